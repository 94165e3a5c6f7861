-- Goals without a lead, by team
WITH
team_goal AS (
    SELECT source AS goal, team_name AS team
    FROM goal_membership_team
    WHERE target LIKE 'TEAM-%'
),
led AS (
    SELECT DISTINCT source AS goal FROM goal_membership WHERE role = 'LEAD'
)
SELECT
    coalesce(team, '(unknown)') AS team,
    count(*) FILTER (WHERE led.goal IS NULL) AS without_lead,
    count(*) AS goals
FROM team_goal
LEFT JOIN led ON led.goal = team_goal.goal
GROUP BY 1
ORDER BY without_lead DESC, goals DESC, team
