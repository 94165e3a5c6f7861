"""The application under its deployed role: what it asks for is allowed, and what lies a step outside of it is not."""

from __future__ import annotations

import pytest

from goals.deployment import deployment
from goals.model import Role, Team, User
from goals.service import Service
from tests.support.mutations import KEYS
from tests.support.programs import PROGRAMS
from tests.support.roles import Recorded, recording

PROGRAM = PROGRAMS["goals/tests"]


def use(app: Service) -> None:
    """One of each kind of action, as somebody at the pages would."""
    goal = app.create_goal("Fly", lead=User.by_id("ada"), holder=Team.by_id("engine"), due="Q4")
    app.set_role(goal.id, User.by_id("grace"), Role.CONTRIBUTOR)
    app.set_role(goal.id, User.by_id("grace"), Role.LEAD)
    app.leave(goal.id, User.by_id("grace"))
    app.change_goal(goal.id, {"title": "Fly high"})
    app.subscribe(goal.id, "grace")
    entry = app.comment(goal.id, "ada", "It flies")
    app.delete_entry(entry)
    app.comment(goal.id, "ada", "It really does")
    app.goals_of_user("ada", Role.LEAD, limit=5)
    app.goals_of(Team.by_id("engine"), limit=5)
    app.goal_page(goal.id, limit=5)
    app.rename_team("engine", "Engines")
    app.delete_goal(goal.id)


def test_the_web_may_do_what_it_does_and_nothing_a_step_outside(app: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(deployment, PROGRAM)
    recording(monkeypatch, recorded)
    use(app)
    assert recorded.refused == []
    actions = {attempt.action.partition(":")[2] for _, attempt in recorded.attempts}
    assert actions >= {"BatchGetItem", "Query", "PutItem", "UpdateItem", "ConditionCheckItem", "DeleteItem"}
    keys = {key.partition("-")[0] for _, attempt in recorded.attempts for key in attempt.context.get(KEYS, ())}
    assert keys >= {"GOAL", "USER", "TEAM", "GOALMEMBERSHIP"}
    judged, escaped = recorded.escaped()
    assert judged > 300
    assert escaped == []
