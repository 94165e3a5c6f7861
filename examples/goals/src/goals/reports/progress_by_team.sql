-- Progress of the goals of each team, in percent
WITH team_goal AS (
    SELECT source, team_name AS team FROM goal_membership_team WHERE target LIKE 'TEAM-%'
)
SELECT
    coalesce(team_goal.team, '(unknown)') AS team,
    round(avg(goal.progress), 1) AS progress
FROM team_goal
JOIN goal ON team_goal.source = 'GOAL-' || goal.id
GROUP BY 1
ORDER BY progress DESC, team
