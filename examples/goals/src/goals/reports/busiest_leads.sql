-- Who leads most goals, and across how many teams
WITH
led AS (
    SELECT source, target FROM goal_membership WHERE role = 'LEAD'
),
team_goal AS (
    SELECT source, target AS team FROM goal_membership WHERE target LIKE 'TEAM-%'
)
SELECT
    coalesce(nullif("user".name, ''), "user".id) AS person,
    count(DISTINCT led.source) AS goals,
    count(DISTINCT team_goal.team) AS teams
FROM led
JOIN "user" ON led.target = 'USER-' || "user".id
LEFT JOIN team_goal ON team_goal.source = led.source
GROUP BY 1
ORDER BY goals DESC, teams DESC, person
LIMIT 20
