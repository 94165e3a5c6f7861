-- Attempts by method: what became of the delivery
SELECT
    method.kind AS method,
    coalesce(delivery, 'not due') AS delivery,
    count(*) AS attempts
FROM search_attempt
GROUP BY 1, 2
ORDER BY method, attempts DESC
