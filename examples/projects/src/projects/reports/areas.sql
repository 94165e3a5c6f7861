-- Commits by the area that their subject names
SELECT
    CASE WHEN subject LIKE '%:%' THEN split_part(subject, ':', 1) ELSE '(none)' END AS area,
    count(*) AS commits
FROM (
    SELECT json_extract_string(scalars['subject'], '$') AS subject
    FROM repository_version
    WHERE number > 0 AND scalars['subject'] IS NOT NULL
)
GROUP BY 1
ORDER BY commits DESC, area
LIMIT 20
