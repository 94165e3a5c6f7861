-- Searches by contact: answered, and not
SELECT
    contact_name AS contact,
    count(*) FILTER (WHERE status = 'answered') AS answered,
    count(*) FILTER (WHERE status <> 'answered') AS unanswered
FROM search
GROUP BY 1
ORDER BY unanswered DESC, contact
LIMIT 25
