-- Who changed what in a project, week by week
WITH change AS (
    SELECT document_id, version, coalesce(principal, client) AS who, name FROM project_mutation_record
    UNION ALL
    SELECT document_id, version, coalesce(principal, client), name FROM repository_mutation_record
),
version AS (
    SELECT document_id, number, "time" FROM project_version
    UNION ALL
    SELECT document_id, number, "time" FROM repository_version
)
SELECT
    strftime(date_trunc('week', version."time"), '%Y-%m-%d') AS week,
    change.document_id AS project,
    change.who,
    replace(change.name, '_', ' ') AS what,
    count(*) AS changes
FROM change
JOIN version ON version.document_id = change.document_id AND version.number = change.version
GROUP BY 1, 2, 3, 4
ORDER BY week, changes DESC, project, who, what
LIMIT 50
