-- Versions of each project: how many, of how many changes, by how many people
WITH change AS (
    SELECT document_id, version, coalesce(principal, client) AS who FROM project_mutation_record
    UNION ALL
    SELECT document_id, version, coalesce(principal, client) FROM repository_mutation_record
)
SELECT
    document_id AS project,
    count(DISTINCT version) AS versions,
    count(*) AS changes,
    count(DISTINCT who) AS people
FROM change
GROUP BY 1
ORDER BY changes DESC, project
LIMIT 25
