-- Members, open invitations and people without a group, by organisation
SELECT
    organisation.organisation_name AS organisation,
    count(*) FILTER (WHERE member.accepted_at IS NOT NULL) AS members,
    count(*) FILTER (WHERE member.accepted_at IS NULL) AS invited,
    count(*) FILTER (WHERE member.accepted_at IS NOT NULL AND len(member.groups) = 0) AS without_group
FROM organisation_member AS member
JOIN organisation ON organisation.organisation_id = member.organisation_id
WHERE organisation.deleted_at IS NULL
GROUP BY 1
ORDER BY members DESC, organisation
