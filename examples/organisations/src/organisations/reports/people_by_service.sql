-- People with access to each service
SELECT
    coalesce(service.service_name, split_part(member.scope, '/', 2)) AS service,
    count(DISTINCT member.email) AS people
FROM group_member AS member
LEFT JOIN organisation_service AS service
    ON service.organisation_id = member.organisation_id
    AND member.scope = 'serviceGroup/' || service.service_id
WHERE member.scope LIKE 'serviceGroup%'
GROUP BY 1
ORDER BY people DESC, service
LIMIT 25
