"""Check-ins and comments: what they change, how they are counted, and that nothing of anybody's is lost."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from examples.goals.tests.http import Client
from goals import Service
from goals.context import random_id
from goals.errors import Changed, Invalid, Missing
from goals.model import Entry, Goal, Role, Team, User
from singletable import Database
from singletable.graph import Graph

Budget = Callable[..., Any]


@pytest.fixture
def goal(app: Service) -> Goal:
    """Led by ada, of the engine team; grace contributes."""
    made = app.create_goal("Fly", lead=User.by_id("ada"), holder=Team.by_id("engine"))
    app.set_role(made.id, User.by_id("grace"), Role.CONTRIBUTOR)
    return made


def counted(app: Service, goal: Goal) -> tuple[int, int]:
    """As the goal counts them, which must be as many as there are."""
    stored = app.db.get(Goal.by_id(goal.id))
    assert stored is not None
    kinds = [entry.kind.value for entry in app.db.all(Entry.of_goal(goal.id))]
    assert (stored.check_ins, stored.comments) == (kinds.count("check-in"), kinds.count("comment"))
    return stored.check_ins, stored.comments


def test_a_check_in_moves_the_goal_and_is_counted(app: Service, goal: Goal, budget: Budget) -> None:
    with budget(requests=1):
        app.check_in(goal, "ada", progress=10, status="on track", text="The engine runs")
    with budget(requests=2):
        app.check_in(goal.id, "grace", progress=30)
    with budget(requests=1, write_units=6) as meter:
        app.comment(goal.id, "grace", "Louder than we thought")
    assert meter.write_units == 6  # the entry, the goal, the check of the user: twice a unit each
    with budget(round_trips=2):
        found = app.activity_of(goal.id, limit=10)
    assert [(s.by.name, s.entry.before, s.entry.progress, s.entry.text) for s in found.said] == [
        ("Grace", None, None, "Louder than we thought"),
        ("Grace", 10, 30, ""),
        ("Ada", 0, 10, "The engine runs"),
    ]
    assert (found.goal.progress, found.goal.status) == (30, "on track")
    assert counted(app, goal) == (2, 1)


def test_pages_are_complete_newest_first_and_cost_the_same(app: Service, goal: Goal, budget: Budget) -> None:
    for n in range(45):
        app.comment(goal.id, "ada", f"Comment {n}")
    seen: list[str] = []
    after: str | None = None
    while True:
        with budget(round_trips=3):
            page = app.goal_page(goal.id, limit=20, after=after, viewer="ada")
        seen += [said.entry.text for said in page.said]
        after = page.after
        if after is None:
            break
    assert seen == [f"Comment {n}" for n in reversed(range(45))]
    assert page.view.goal.comments == 45


def test_a_list_says_how_many_there_are_without_reading_them(app: Service, goal: Goal, budget: Budget) -> None:
    with budget(requests=3) as before:
        app.goals_of(Team.by_id("engine"), limit=5)
    for _ in range(30):
        app.comment(goal.id, "ada", "x" * 1000)
    with budget(round_trips=3) as meter:
        (view,) = app.goals_of(Team.by_id("engine"), limit=5).goals
    assert (view.goal.comments, meter.read_units) == (30, before.read_units)


def test_many_at_once_are_counted_each(app: Service, goal: Goal) -> None:
    busy = Service(app.db, now=app.now, new_id=random_id)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: busy.comment(goal.id, "ada", f"{n}"), range(60)))
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda n: busy.check_in(goal.id, "grace", progress=n), range(1, 21)))
    assert counted(app, goal) == (20, 60)
    steps = [(s.entry.before, s.entry.progress) for s in app.activity_of(goal.id, limit=20).said]
    assert {before for before, _ in steps} <= {0, *(now for _, now in steps)}
    assert len({before for before, _ in steps}) == 20  # each began where another ended


def test_a_check_in_on_what_somebody_else_changed(app: Service, goal: Goal) -> None:
    app.check_in(goal, "grace", progress=60, status="late")
    with pytest.raises(Changed) as refused:
        app.check_in(goal, "ada", progress=20, status="", base={"progress": 0, "status": ""})
    assert set(refused.value.differences) == {"progress"}  # the status is as it was for ada, who leaves it
    difference = refused.value.differences["progress"]
    assert (difference.base, difference.stored, difference.yours) == (0, 60, 20)
    assert counted(app, goal) == (1, 0)


def test_deleting(app: Service, goal: Goal) -> None:
    entry = app.comment(goal.id, "grace", "Oh no")
    app.check_in(goal, "ada", progress=5)
    app.delete_entry(entry)
    with pytest.raises(Missing):
        app.delete_entry(entry)
    assert counted(app, goal) == (1, 0)


def test_what_is_refused(app: Service, goal: Goal) -> None:
    with pytest.raises(Missing, match="user 'nobody'"):
        app.comment(goal.id, "nobody", "x")
    with pytest.raises(Missing, match="goal 'nope'"):
        app.comment("nope", "ada", "x")
    with pytest.raises(Invalid):
        app.comment(goal.id, "ada", "  \n ")
    with pytest.raises(Invalid, match="5000 characters, this one has 5001"):
        app.comment(goal.id, "ada", "x" * 5001)
    with pytest.raises(Invalid):
        app.check_in(goal, "ada", progress=101)
    assert counted(app, goal) == (0, 0)


def test_a_goal_that_is_being_deleted_takes_no_more(app: Service, goal: Goal, db: Database) -> None:
    assert Graph(db).delete_node(Goal.by_id(goal.id))
    with pytest.raises(Missing):
        app.comment(goal.id, "ada", "Too late")
    assert list(db.scan(Entry)) == []


def test_what_somebody_said_stays_when_they_go(app: Service, goal: Goal, db: Database) -> None:
    app.comment(goal.id, "grace", "Goodbye")
    Graph(db).delete_node(User.by_id("grace"))
    (said,) = app.goal_page(goal.id, limit=5).said
    assert (said.by.name, said.entry.text) == ("grace", "Goodbye")


# --- changes of a goal's own data -------------------------------------------------------------------------------------
def test_changes_of_different_attributes_come_together(app: Service, goal: Goal, budget: Budget) -> None:
    base = {"title": "Fly", "status": "", "progress": 0, "due": ""}
    with budget(requests=1):
        app.change_goal(goal.id, base | {"title": "Fly far"}, base)
    with budget(requests=1):
        changed = app.change_goal(goal.id, base | {"due": "Q4"}, base)
    assert (changed.title, changed.due) == ("Fly far", "Q4")
    app.comment(goal.id, "ada", "A comment changes no attribute")
    app.change_goal(goal.id, base | {"status": "late"}, base)


def test_changes_of_the_same_attribute_are_refused_with_both(app: Service, goal: Goal, budget: Budget) -> None:
    base = {"title": "Fly", "due": ""}
    app.change_goal(goal.id, {"title": "Fly far", "due": "Q4"}, base)
    with budget(requests=2), pytest.raises(Changed, match="title is 'Fly far', you wanted 'Fly high'") as refused:
        app.change_goal(goal.id, {"title": "Fly high", "due": "Q4"}, base)
    assert set(refused.value.differences) == {"title"}
    same = app.change_goal(goal.id, {"title": "Fly far"}, base)  # both wanted the same
    assert same.title == "Fly far"
    with pytest.raises(Invalid):
        app.change_goal(goal.id, {})


# --- over HTTP --------------------------------------------------------------------------------------------------------
async def test_over_http(app: Service, goal: Goal) -> None:
    ada, grace, linus = Client(app, "ada"), Client(app, "grace"), Client(app, "linus")
    said = await grace.ask("POST", f"/api/check-ins/{goal.id}", {"progress": 40, "status": "late", "text": "Fog"})
    assert (said.status_code, said.json()["by"]["name"], said.json()["before"]) == (201, "Grace", 0)
    was = {"progress": 10, "was": {"progress": 0}}
    stale = await ada.ask("POST", f"/api/check-ins/{goal.id}", was)
    assert (stale.status_code, stale.json()["differences"]["progress"]["stored"]) == (409, 40)
    comment = await ada.ask("POST", f"/api/comments/{goal.id}", {"text": "<b>Wait</b>"})
    path = f"/api/activity/{goal.id}"
    found = (await linus.get(f"{path}?limit=1")).json()
    assert (found["check_ins"], found["comments"], len(found["entries"])) == (1, 1, 1)
    assert found["cost"]["round_trips"] == 2
    rest = (await linus.get(f"{path}?limit=1&after={found['after']}")).json()
    assert [e["kind"] for e in found["entries"] + rest["entries"]] == ["comment", "check-in"]
    entry = comment.json()["id"]
    assert (await grace.ask("DELETE", f"{path}?entry={entry}")).status_code == 403
    assert (await ada.ask("DELETE", f"{path}?entry={entry}")).status_code == 204
    assert (await ada.ask("DELETE", f"{path}?entry={entry}")).status_code == 404
    assert (await ada.ask("DELETE", f"{path}?entry={said.json()['id']}")).status_code == 204  # ada leads
    assert (await ada.ask("POST", f"/api/comments/{goal.id}", {"text": ""})).status_code == 422
    assert counted(app, goal) == (0, 0)


def test_entries_sort_by_their_time(app: Service, goal: Goal) -> None:
    start = app.now()
    moments = [start + timedelta(days=days, microseconds=m) for days, m in ((400, 0), (0, 1), (0, 0), (31, 999_999))]
    for moment in moments:
        Service(app.db, now=partial(type(moment).fromtimestamp, moment.timestamp(), moment.tzinfo)).comment(
            goal.id, "ada", str(moment)
        )
    texts = [said.entry.text for said in app.activity_of(goal.id, limit=9).said]
    assert texts == [str(moment) for moment in sorted(moments, reverse=True)]
