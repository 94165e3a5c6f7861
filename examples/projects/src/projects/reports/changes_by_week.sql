-- Who changed what in a project, week by week
WITH change AS (
    SELECT document_id, version, coalesce(principal, client) AS who, name FROM project_mutation_record
    UNION ALL
    SELECT document_id, version, coalesce(principal, client), name FROM repository_mutation_record
),
version AS (
    SELECT document_id, number, "time", NULL AS author FROM project_version
    UNION ALL
    -- A commit's own time and author: its import is later, and by somebody else.
    SELECT
        document_id,
        number,
        coalesce(try_cast(trim(scalars['made_at'], '"') AS TIMESTAMPTZ), "time"),
        nullif(trim(scalars['author'], '"'), '')
    FROM repository_version
)
SELECT
    strftime(date_trunc('week', version."time"), '%Y-%m-%d') AS week,
    change.document_id AS project,
    coalesce(version.author, change.who) AS who,
    replace(change.name, '_', ' ') AS what,
    count(*) AS changes
FROM change
JOIN version ON version.document_id = change.document_id AND version.number = change.version
GROUP BY ALL
ORDER BY week DESC, changes DESC, project, who, what
LIMIT 50
