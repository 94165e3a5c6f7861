"""The import against the file, read twice: once by the application and once here."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from examples.goals.tests.file import FILE, NEEDS_FILE, expected
from examples.goals.tests.support import enhancement, text_of, whole
from goals import Service
from goals.enhancements import read
from goals.errors import Invalid
from goals.import_enhancements import Imported, import_enhancements
from goals.model import Goal, GoalKind, Role, Subscriber, Team, User, records
from goals.output import goal_json
from goals.queries import Order
from goals.views import GoalList
from singletable import Database
from singletable.flow import Traits


def take(db: Database, *lines: dict[str, Any]) -> Imported:
    return import_enhancements(db, read(text_of(*lines)), lambda done, total: None)


def shown(app: Service, goal_id: str) -> dict[str, Any]:
    view, links = app.goal_with_links(goal_id)
    return goal_json(view) | {"links": links}


def goals_of(app: Service, team: str, after: str | None) -> GoalList:
    return app.goals_of(Team.by_id(team), limit=17, after=after)


def goals_of_user(app: Service, user: str, role: Role, after: str | None) -> GoalList:
    return app.goals_of_user(user, role, limit=100, after=after)


# --- the whole file ---------------------------------------------------------------------------------------------------
@NEEDS_FILE
def test_every_team_has_its_goals_with_their_leads(imported: Service) -> None:
    said = expected()
    assert len(said.goals) == 379
    for team, ids in said.of_team.items():
        goals = whole(partial(goals_of, imported, team))
        assert {view.id for view in goals} == ids
        assert len(goals) == len(ids)
        for view in goals:
            assert {**goal_json(view), "links": said.goals[view.id]["links"]} == said.goals[view.id]


@NEEDS_FILE
def test_every_goal_is_as_in_the_file(imported: Service) -> None:
    for id, goal in expected().goals.items():
        assert shown(imported, id) == goal


@NEEDS_FILE
@pytest.mark.parametrize("role", [Role.LEAD, Role.CONTRIBUTOR])
def test_every_user_has_the_goals_of_exactly_that_role(imported: Service, role: Role) -> None:
    said = expected()
    by_user = said.led_by if role is Role.LEAD else said.contributed_by
    for user in {*said.led_by, *said.contributed_by}:
        goals = whole(partial(goals_of_user, imported, user, role))
        assert {view.id for view in goals} == by_user.get(user, set())


@NEEDS_FILE
def test_milestones_are_key_results_with_leads_and_teams(imported: Service) -> None:
    said = expected()
    seen = 0
    for team in sorted(said.of_team):
        page = imported.holder_page(Team.by_id(team), limit=500)
        for view in page.goals.goals:
            titles = [part.goal.title for part in view.key_results]
            order = [s for s in ("alpha", "beta", "stable", "deprecated", "removed") if s in said.milestones[view.id]]
            assert titles == [f"{stage.capitalize()} in {said.milestones[view.id][stage]}" for stage in order]
            for part in view.key_results:
                assert [user.id for user in part.leads] == said.goals[view.id]["leads"]
                assert part.goal.kind is GoalKind.KEY_RESULT
                seen += 1
    assert seen > 1000


@NEEDS_FILE
def test_the_whole_graph_is_sound_and_a_second_import_writes_nothing(imported: Service) -> None:
    assert imported.db.check(records) == []
    with imported.db.meter() as meter:
        again = import_enhancements(imported.db, read(FILE.read_text("utf-8")), lambda done, total: None)
    assert again == Imported(new=0, changed=0)
    assert meter.write_units == 0
    assert meter.round_trips == 1


# --- small files ------------------------------------------------------------------------------------------------------
def test_one_user_in_several_fields_has_the_highest_role(db: Database) -> None:
    take(db, enhancement("1-a", authors=["ada"], reviewers=["ada", "grace", "grace"], approvers=["ada", "linus"]))
    found = shown(Service(db), "1-a")
    assert (found["leads"], found["contributors"]) == (["ada"], ["grace", "linus"])


def test_texts_are_taken_as_they_stand(db: Database) -> None:
    names = ["“@quoted”", "kubernetes/wg-one", "somebody - For one part only", "CamelCase", "camelcase"]
    take(db, enhancement("2-UPPER-x.y", authors=names, owning_sig="sig one/two - three"))
    app = Service(db)
    assert shown(app, "2-UPPER-x.y")["leads"] == sorted(names)
    for name in names:
        assert [v.id for v in app.goals_of_user(name, Role.LEAD, limit=10).goals] == ["2-UPPER-x.y"]
    assert len(app.goals_of(Team.by_id("sig one/two - three"), limit=10).goals) == 1


def test_links_are_ids_that_stand_in_a_path_as_a_part(db: Database) -> None:
    see = ["/keps/sig-one/2-b", "/keps/sig-one/2-b-longer/kep.yaml", "https://example.org/3-c/README.md", "1-a", "TODO"]
    lines = [enhancement("1-a", see_also=see, replaces=["keps/2-b"]), enhancement("2-b"), enhancement("3-c")]
    take(db, *lines)
    assert shown(Service(db), "1-a")["links"] == ["2-b", "3-c"]
    page = Service(db).goal_page("1-a", limit=10)
    assert [goal.id for goal in page.replaced] == ["2-b"]


def test_progress_is_what_was_reached(db: Database) -> None:
    milestone = {"alpha": "v1.1", "beta": "v1.2", "stable": "v1.3", "removed": None}
    take(
        db, enhancement("1-a", stage="beta", milestone=milestone), enhancement("2-b", status="implemented", stage=None)
    )
    app = Service(db)
    first = app.goal_page("1-a", limit=10).view
    assert [part.goal.progress for part in first.key_results] == [100, 0, 0]
    assert (first.goal.progress, first.goal.due) == (33, "v1.2")
    assert app.goal("2-b").goal.progress == 100


def test_a_changed_file_changes_the_goals_and_nothing_else(db: Database) -> None:
    take(db, enhancement("1-a", authors=["ada", "linus"], milestone={"alpha": "v1", "beta": "v2"}), enhancement("2-b"))
    app = Service(db)
    app.subscribe("1-a", "ada")
    own = app.create_key_result("1-a", "A party", lead=User.by_id("ada"), position="9")
    app.change_goal("2-b", {"title": "Changed here"})
    changed = enhancement(
        "1-a",
        title="Another title",
        authors=["grace"],
        approvers=["ada"],
        created="2026-2-3",
        owning_sig="sig-two",
        milestone={"beta": "v2", "stable": "v3"},
        see_also=["x/2-b"],
    )
    assert take(db, changed, enhancement("2-b")) == Imported(new=3, changed=3)
    found = shown(app, "1-a")
    assert found["title"] == "Another title"
    assert (found["leads"], found["contributors"], found["teams"]) == (["grace"], ["ada"], ["sig-two"])
    assert found["links"] == ["2-b"]
    page = app.goal_page("1-a", limit=10)
    assert [part.id for part in page.view.key_results] == ["1-a-beta", "1-a-stable", own.id]
    assert [s.user.id for s in app.subscribers_of("1-a", limit=5).subscribers] == ["ada"]
    assert app.goal("2-b").goal.title == "The title of 2-b"
    dates = app.goals_of(Team.by_id("sig-two"), limit=10, order=Order.DATE)
    assert [view.id for view in dates.goals] == ["1-a"]
    assert db.get(Goal.by_id("1-a-alpha")) is None
    assert take(db, changed, enhancement("2-b")) == Imported(new=0, changed=0)


def test_an_import_that_was_broken_off_is_finished_by_the_next(db: Database) -> None:
    lines = [enhancement(f"{n}-a", milestone={"alpha": "v1"}, see_also=["x/1-a"]) for n in range(1, 151)]
    stops = _StopsAfter(db, writes=4)
    with pytest.raises(_Stopped):
        take(stops.db, *lines)
    there = [db.get(Goal.by_id(line["id"])) is not None for line in lines]
    assert set(there) == {True, False}
    take(db, *lines)
    assert all(shown(Service(db), line["id"])["links"] == ["1-a"] for line in lines[1:])
    assert take(db, *lines) == Imported(new=0, changed=0)


class _Stopped(Exception):
    """The program ended here."""


class _StopsAfter:
    """A database whose program ends in the middle of a round trip of batch writes."""

    def __init__(self, db: Database, writes: int) -> None:
        self._port, self._left = db.port, writes
        port: Any = self
        self.db = Database(port, db.target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    async def send_all(self, operations: Any) -> Any:
        if type(operations[0]).__name__ != "BatchWriteItem":
            return await self._port.send_all(operations)
        self._left -= 1
        if self._left == 0:
            await self._port.send_all(operations[:1])
            raise _Stopped
        return await self._port.send_all(operations)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "the file:1: no JSON"),
        ("[]", "the file:1: no object"),
        ('{"title": "no id"}', "the file:1: no object"),
        (text_of(enhancement("1-a"), enhancement("1-a")), "the file:2: the id '1-a' comes twice; first in line 1"),
        (text_of(enhancement("1-a", title=None)), "the file:1: '1-a': title is not a text"),
        (text_of(enhancement("1-a"), enhancement("2-b", authors="ada")), "the file:2: '2-b': authors is not a list"),
        (
            text_of(enhancement("1-a", created="2026-13-01")),
            "the file:1: '1-a': created is '2026-13-01', which is not a day: month must be",
        ),
        (text_of(enhancement("1-a", milestone={"beta": "v1"}), enhancement("1-a-beta")), "also that of a milestone"),
    ],
)
def test_a_wrong_file_is_refused_before_anything_is_written(text: str, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        read(text)


@pytest.mark.parametrize("said", ["", None, "yyyy-mm-dd", "2026", "TBD"])
def test_a_goal_without_a_date_is_imported_without_one(db: Database, said: str | None) -> None:
    undated = enhancement("2-b", created=said, milestone={"alpha": "v1"}, see_also=["x/1-a"])
    nothing = {name: value for name, value in enhancement("3-c").items() if name != "created"}
    take(db, enhancement("1-a"), undated, nothing)
    app = Service(db)
    assert [app.goal(id).goal.created is None for id in ("1-a", "2-b", "3-c")] == [False, True, True]
    dates = app.goals_of(Team.by_id("sig-one"), limit=10, order=Order.DATE)
    assert next(view.id for view in dates.goals) == "1-a"
    assert {view.id for view in dates.goals} == {"1-a", "2-b", "3-c"}
    assert take(db, enhancement("1-a"), undated, nothing) == Imported(new=0, changed=0)


def test_a_title_may_hold_what_ends_a_line_elsewhere(db: Database) -> None:
    text = text_of(enhancement("1-a", title="one\\u0085two")).replace("\\\\u0085", "\u0085")
    with pytest.raises(Invalid, match="the file:2: no JSON"):
        read(text + "{")
    with pytest.raises(Invalid, match=r"the file:1: '1-a': title: it holds the character '\\x85'"):
        read(text)


def test_an_id_that_an_earlier_import_deleted_is_made_again_where_indexes_lag(db: Database) -> None:
    """As on AWS: the key of a deleted node is taken until a sweep."""
    db.port.traits = Traits(creates_tables=True, index_lag_seconds=0.001)
    both = enhancement("a", milestone={"alpha": "v1.1", "beta": "v1.2"})
    for line in (both, enhancement("a", milestone={"alpha": "v1.1"})):
        take(db, line)
    assert "node.deleting" in {finding.code for finding in db.check(records)}
    assert take(db, both) == Imported(1, 1)
    assert take(db, both) == Imported(0, 0)


def test_subscribers_of_an_imported_goal_are_edges_of_their_own(db: Database) -> None:
    take(db, enhancement("1-a", authors=["ada", "grace"]))
    app = Service(db)
    assert app.subscribe("1-a", "ada")
    assert not app.subscribe("1-a", "ada")
    assert len(db.all(Subscriber.of(Goal.by_id("1-a")))) == 1
