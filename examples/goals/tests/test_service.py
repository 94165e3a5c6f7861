"""The actions through the service: what they change, refuse and cost. Each test ends in the check of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from examples.goals.tests.support import whole
from goals import Service
from goals.errors import AlreadyThere, Changed, Invalid, Missing
from goals.model import EVERYBODY, Entry, Goal, GoalMembership, Organisation, Role, Team, TeamRole, User
from singletable import Database
from singletable.graph import Graph

Budget = Callable[..., Any]
ADA, GRACE, LINUS = User.by_id("ada"), User.by_id("grace"), User.by_id("linus")
ENGINE, DOCS = Team.by_id("engine"), Team.by_id("docs")


@pytest.fixture
def goal(app: Service) -> Goal:
    """Led by ada, of the engine team."""
    return app.create_goal("Fly", lead=ADA, holder=ENGINE, due="Q4")


def ids(app: Service, team: str) -> list[str]:
    return [view.id for view in app.goals_of(Team.by_id(team), limit=100).goals]


def people(app: Service, goal: Goal) -> tuple[list[str], list[str], list[str]]:
    view = app.goal(goal.id)
    return [u.id for u in view.leads], [u.id for u in view.contributors], [t.id for t in view.teams]


# --- people -----------------------------------------------------------------------------------------------------------
def test_a_new_goal_has_its_lead_and_team(app: Service, goal: Goal) -> None:
    assert people(app, goal) == (["ada"], [], ["engine"])
    assert ids(app, "engine") == [goal.id]
    view = app.goal(goal.id)
    assert (view.goal.title, view.goal.due, str(view.goal.created)) == ("Fly", "Q4", "2026-01-01")


def test_joining_is_seen_from_both_sides(app: Service, goal: Goal, budget: Budget) -> None:
    with budget(requests=2):
        app.set_role(goal.id, GRACE, Role.CONTRIBUTOR)
    app.set_role(goal.id, DOCS, Role.TEAM)
    assert people(app, goal) == (["ada"], ["grace"], ["docs", "engine"])
    assert ids(app, "docs") == [goal.id]
    assert [v.id for v in app.goals_of_user("grace", Role.CONTRIBUTOR, limit=5).goals] == [goal.id]
    assert app.goals_of_user("grace", Role.LEAD, limit=5).goals == ()


def test_a_new_role_moves_the_goal_in_both_lists(app: Service, goal: Goal, budget: Budget) -> None:
    app.set_role(goal.id, GRACE, Role.CONTRIBUTOR)
    with budget(requests=2):
        app.set_role(goal.id, GRACE, Role.LEAD)
    assert people(app, goal) == (["ada", "grace"], [], ["engine"])
    assert app.goals_of_user("grace", Role.CONTRIBUTOR, limit=5).goals == ()
    assert [v.id for v in app.goals_of_user("grace", Role.LEAD, limit=5).goals] == [goal.id]
    app.set_role(goal.id, GRACE, Role.CONTRIBUTOR)
    app.set_role(goal.id, GRACE, Role.CONTRIBUTOR)
    assert people(app, goal) == (["ada"], ["grace"], ["engine"])


def test_leaving(app: Service, goal: Goal, budget: Budget) -> None:
    app.set_role(goal.id, DOCS, Role.TEAM)
    with budget(requests=2):
        assert app.leave(goal.id, DOCS)
    assert not app.leave(goal.id, DOCS)
    assert people(app, goal) == (["ada"], [], ["engine"])
    assert ids(app, "docs") == []


def test_profiles_come_by_rank(app: Service) -> None:
    made = [app.create_goal(f"Goal {n}", lead=ADA, holder=ENGINE) for n in range(6)]
    for number, one in enumerate(made):
        app.set_role(one.id, GRACE, Role.LEAD if number % 2 else Role.CONTRIBUTOR)
    found = whole(lambda after: app.profile("grace", limit=2, after=after).goals)
    assert [view.role for view in found] == [Role.LEAD] * 3 + [Role.CONTRIBUTOR] * 3
    assert {view.id for view in found} == {one.id for one in made}


# --- what is refused --------------------------------------------------------------------------------------------------
def test_what_is_there_already(app: Service, goal: Goal) -> None:
    with pytest.raises(AlreadyThere, match="user 'ada'"):
        app.create(User(id="ada", name="Another"))
    assert people(app, goal) == (["ada"], [], ["engine"])


def test_who_is_not_there(app: Service, goal: Goal) -> None:
    nobody = User.by_id("nobody")
    with pytest.raises(Missing, match="user 'nobody'"):
        app.set_role(goal.id, nobody, Role.LEAD)
    with pytest.raises(Changed, match="part in the goal of 'grace'"):
        app.set_role(goal.id, GRACE, Role.LEAD, was=Role.CONTRIBUTOR)
    with pytest.raises(Missing, match="goal 'nope'"):
        app.set_role("nope", ADA, Role.LEAD)
    with pytest.raises(Missing, match="goal 'nope'"):
        app.change_goal("nope", {"title": "x"})
    with pytest.raises(Missing, match="user 'nobody'"):
        app.subscribe(goal.id, "nobody")
    with pytest.raises(Missing, match="user 'nobody'"):
        app.profile("nobody", limit=5)
    with pytest.raises(Missing, match="team 'nope'"):
        app.people_of("nope", limit=5)


def test_a_goal_whose_people_are_not_there_is_not_made(app: Service, db: Database) -> None:
    with pytest.raises(Missing, match="team 'nope'"):
        app.create_goal("Fly", lead=ADA, holder=Team.by_id("nope"), goal_id="x")
    assert db.get(Goal.by_id("x")) is None
    with pytest.raises(Missing, match="goal 'nope'"):
        app.create_key_result("nope", "A flight", lead=ADA, position="1")
    assert list(db.scan(Goal)) == []


def test_a_team_does_not_lead(app: Service, goal: Goal) -> None:
    with pytest.raises(Invalid):
        app.set_role(goal.id, DOCS, Role.LEAD)
    with pytest.raises(Invalid):
        app.set_role(goal.id, GRACE, Role.TEAM)


def test_a_role_that_somebody_else_changed_is_not_overwritten(app: Service, goal: Goal) -> None:
    app.set_role(goal.id, GRACE, Role.CONTRIBUTOR)
    app.set_role(goal.id, GRACE, Role.LEAD, was=Role.CONTRIBUTOR)
    app.leave(goal.id, GRACE)
    with pytest.raises(Changed) as refused:
        app.set_role(goal.id, GRACE, Role.CONTRIBUTOR, was=Role.LEAD)
    difference = refused.value.differences["role"]
    assert (difference.base, difference.stored, difference.yours) == ("lead", "nothing", "contributor")


def test_an_id_that_begins_as_anothers_does(app: Service, goal: Goal) -> None:
    app.create_user("ad", "Ad")
    app.create_user("ada-2", "Ada the second")
    app.create_goal("Walk", lead=User.by_id("ada-2"), holder=ENGINE)
    assert [view.id for view in app.goals_of_user("ada", Role.LEAD, limit=5).goals] == [goal.id]
    assert app.goals_of_user("ad", limit=5).goals == ()


def test_goals_of_at_least_a_role(app: Service, goal: Goal) -> None:
    app.set_role(goal.id, GRACE, Role.CONTRIBUTOR)
    led = app.create_goal("Sail", lead=GRACE, holder=DOCS)
    for minimum, ids in ((Role.LEAD, [led.id]), (Role.CONTRIBUTOR, [led.id, goal.id])):
        profile = app.profile("grace", minimum=minimum, limit=5).goals
        listed = app.goals_of_user("grace", minimum=minimum, limit=5)
        assert [view.id for view in profile.goals] == [view.id for view in listed.goals] == ids


# --- goals among each other -------------------------------------------------------------------------------------------
def test_key_results_have_people_of_their_own_and_are_in_no_list(app: Service, goal: Goal, budget: Budget) -> None:
    late = app.create_key_result(goal.id, "Ten flights", lead=LINUS, position="2")
    with budget(requests=2):  # the objective, and all in one transaction
        soon = app.create_key_result(goal.id, "One flight", lead=GRACE, position="1")
    app.set_role(late.id, DOCS, Role.TEAM)
    page = app.holder_page(ENGINE, limit=10)
    (view,) = page.goals.goals
    assert [(p.id, [u.name for u in p.leads]) for p in view.key_results] == [
        (soon.id, ["Grace"]),
        (late.id, ["Linus"]),
    ]
    assert [team.id for team in view.key_results[1].teams] == ["docs"]
    assert ids(app, "docs") == []
    assert app.goals_of_user("linus", Role.LEAD, limit=5).goals == ()
    assert [parent.id for parent in app.goal_page(late.id, limit=5).parents] == [goal.id]


def test_leads_of_key_results_on_a_goals_page_cost_nothing(app: Service, goal: Goal, budget: Budget) -> None:
    app.create_key_result(goal.id, "One flight", lead=ADA, position="1")
    app.create_key_result(goal.id, "Ten flights", lead=LINUS, position="2")
    with budget(round_trips=3):
        page = app.goal_page(goal.id, limit=5)
    assert [[u.name for u in part.leads] for part in page.view.key_results] == [["Ada"], ["linus"]]


def test_sub_goals_are_goals_of_their_own(app: Service, goal: Goal) -> None:
    part = app.create_sub_goal(goal.id, "Land", lead=GRACE, position="1")
    app.set_role(part.id, ENGINE, Role.TEAM)
    found = {view.id: view for view in app.holder_page(ENGINE, limit=10).goals.goals}
    assert set(found) == {goal.id, part.id}
    assert [(s.id, [u.id for u in s.leads]) for s in found[goal.id].sub_goals] == [(part.id, ["grace"])]


def test_deleting_a_goal_takes_its_key_results_and_what_was_said(app: Service, goal: Goal, db: Database) -> None:
    part = app.create_key_result(goal.id, "One flight", lead=GRACE)
    below = app.create_sub_goal(goal.id, "Land", lead=GRACE, teams=[DOCS])
    app.subscribe(goal.id, "linus")
    app.comment(part.id, "grace", "Soon")
    app.check_in(goal.id, "ada", progress=5)
    assert app.delete_goal(goal.id)
    assert not app.delete_goal(goal.id)
    assert ids(app, "engine") == []
    assert db.get(Goal.by_id(part.id)) is None
    assert app.goal_page(below.id, limit=5).parents == ()
    assert ids(app, "docs") == [below.id]
    assert list(db.scan(Entry)) == []
    assert db.get(ADA) is not None


# --- subscribers, teams, large goals ----------------------------------------------------------------------------------
def test_subscribing_does_not_touch_the_goal(app: Service, goal: Goal, budget: Budget) -> None:
    with budget(requests=1) as meter:
        assert app.subscribe(goal.id, "linus")
    assert meter.write_units <= 8
    assert not app.subscribe(goal.id, "linus")
    assert [one.user.name for one in app.subscribers_of(goal.id, limit=5).subscribers] == ["Linus"]
    assert app.unsubscribe(goal.id, "linus")
    assert not app.unsubscribe(goal.id, "linus")


def test_team_people_by_rank(app: Service, budget: Budget) -> None:
    app.set_team_role("engine", "ada", TeamRole.OBSERVER)
    app.set_team_role("engine", "grace", TeamRole.MANAGER)
    app.set_team_role("engine", "linus", TeamRole.MEMBER)
    app.set_team_role("engine", "ada", TeamRole.MEMBER)
    with budget(round_trips=2):
        page = app.people_of("engine", limit=10)
    assert [(m.user.id, m.role.value) for m in page.members] == [
        ("grace", "MANAGER"),
        ("ada", "MEMBER"),
        ("linus", "MEMBER"),
    ]
    assert [team.id for team in app.profile("ada", limit=5).teams] == ["engine"]
    assert app.leave_team("engine", "ada")
    assert app.profile("ada", limit=5).teams == ()


def test_teams_of_an_organisation(app: Service, db: Database, budget: Budget) -> None:
    with budget(requests=5):  # the organisation is made with its first team
        app.create_team("zoo", "Zoo")
    with budget(requests=1):
        app.create_team("ark", "Ark", manager_id="ada")
    with budget(round_trips=2):
        found = app.teams_of(limit=10)
    assert [team.name for team in found.teams] == ["Ark", "Zoo"]
    assert db.get(Organisation.by_id(EVERYBODY)) is not None
    with pytest.raises(AlreadyThere):
        app.create_team("ark", "Ark")


def test_an_organisations_own_goals(app: Service) -> None:
    app.create(Organisation(id="all", name="All"))
    made = app.create_goal("Grow", lead=ADA, holder=Organisation.by_id("all"))
    page = app.holder_page(Organisation.by_id("all"), limit=5)
    assert [view.id for view in page.goals.goals] == [made.id]
    assert [holder.name for holder in page.goals.goals[0].holders] == ["All"]


def test_a_goal_of_more_people_than_its_edge_set_holds(app: Service, goal: Goal, db: Database) -> None:
    users = [User(id=f"u{n:03}", name=f"U {n}") for n in range(150)]
    edges = [
        GoalMembership(source=Goal.by_id("big"), target=user, role=Role.CONTRIBUTOR, since=app.now().date())
        for user in users
    ]
    Graph(db).load(users)
    Graph(db).load([Goal(id="big", title="Big")], edges)
    app.set_role("big", ENGINE, Role.TEAM)
    (view,) = [v for v in app.goals_of(ENGINE, limit=10).goals if v.id == "big"]
    assert view.is_cut
    assert len(view.contributors) == 100
    assert len(app.goal("big").contributors) == 150
    seen: list[str] = []
    after: str | None = None
    while True:
        page = app.parts_of("big", limit=60, after=after)
        seen += [part.who.id for part in page.parts]
        after = page.after
        if after is None:
            break
    assert sorted(seen) == ["engine", *(user.id for user in users)]
