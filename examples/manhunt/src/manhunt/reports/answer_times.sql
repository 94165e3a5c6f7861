-- Minutes from alarm to answer, by method and hour of the alarm
SELECT
    attempt.method.kind AS method,
    lpad(date_part('hour', search.started_at)::VARCHAR, 2, '0') || ':00' AS hour,
    round(avg(epoch(attempt.answered_at) - epoch(search.started_at)) / 60, 1) AS minutes
FROM search_attempt AS attempt
JOIN search ON search.search_id = attempt.search_id
WHERE attempt.answered_at IS NOT NULL
GROUP BY 1, 2
ORDER BY method, hour
