-- Who is in which group of which service, and through whom
SELECT
    organisation.organisation_name AS organisation,
    coalesce(service.service_name, split_part(member.scope, '/', 2)) AS service,
    url_decode(member."group") AS "group",
    coalesce(nullif(trim("user".first_name || ' ' || "user".last_name), ''), "user".shown_as, member.email) AS person,
    coalesce(member.given_by, 'the operator') AS given_by
FROM group_member AS member
JOIN organisation ON organisation.organisation_id = member.organisation_id
LEFT JOIN organisation_service AS service
    ON service.organisation_id = member.organisation_id
    AND member.scope = 'serviceGroup/' || service.service_id
LEFT JOIN "user" ON "user".email = member.email
WHERE member.scope LIKE 'serviceGroup%' AND organisation.deleted_at IS NULL
ORDER BY organisation, service, "group", person
