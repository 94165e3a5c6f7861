"""What the application needs of an AWS account: its table, and the roles of its programs.

singletable deploy goals.deployment --format cloudformation > goals.json
"""

from __future__ import annotations

from goals.model import (
    Entry,
    Goal,
    GoalMembership,
    KeyResult,
    KeyResultMembership,
    Organisation,
    PartOf,
    Replaces,
    SeeAlso,
    SubGoal,
    Subscriber,
    Team,
    TeamMembership,
    TeamOrganisation,
    User,
    records,
)
from singletable_deploy import (
    Deployment,
    Role,
    admin,
    checks,
    creates,
    deletes,
    deletes_nodes,
    links,
    read_only,
    updates,
    upserts,
    walks,
    writes_many,
)

OF_GOALS = (GoalMembership, KeyResultMembership, Subscriber, KeyResult, SubGoal, PartOf, SeeAlso, Replaces)
OF_TEAMS = (TeamMembership, TeamOrganisation)

web = Role(
    "web",
    [
        walks(*OF_GOALS, *OF_TEAMS),
        links(*OF_GOALS, *OF_TEAMS),
        creates(Goal, User, Team, Organisation),
        upserts(Organisation),
        updates(Goal, User, Team),
        checks(User),
        deletes_nodes(Goal, User, Team),
        Entry.of_goal,
        creates(Entry),
        checks(Entry),
        deletes(Entry),
        writes_many(Entry),
    ],
    service="ecs-tasks",
)
"""The API and the pages. The operator's commands and the importers run as `admin`."""

deployment = Deployment("goals", tables=[records], roles=[web, admin(records), read_only(records)])
