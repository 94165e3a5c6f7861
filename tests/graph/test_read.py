"""Reads: pages with neighbours in stated round trips, walks, counts, and what an overflowed set leaves out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pydantic
import pytest

from singletable import ANY, Condition, InvalidRequest, at_least, attr
from singletable.graph import CAP, Edge, GraphTable, Node, neighbours_of
from singletable.graph.queries import End
from tests.graph.models import A_DAY, Goal, GoalMembership, Note, Role, Subgoal, Subscriber, Team, User
from tests.graph.shells import bound
from tests.support.shells import Shell

TEAM = Team(id="t", name="T")
LEADS = GoalMembership.to(User, attr(GoalMembership.role) == Role.LEAD)
HELPERS = GoalMembership.to(User, attr(GoalMembership.role) != Role.LEAD)
PEOPLE = 130


@pytest.fixture
async def graph(shell: Shell) -> Any:
    """120 goals of a team, in a ring of subgoals, with a lead and a contributor each of 130 people."""
    people = [User(id=f"u{i}", name=f"U{i}") for i in range(PEOPLE)]
    goals = [Goal(id=f"g{i:03}", title=f"G{i}") for i in range(120)]
    edges: list[Any] = []
    for i, goal in enumerate(goals):
        edges.append(GoalMembership(source=goal, target=TEAM, role=Role.TEAM))
        edges.append(GoalMembership(source=goal, target=people[i], role=Role.LEAD))
        edges.append(GoalMembership(source=goal, target=people[(i + 10) % PEOPLE], role=Role.CONTRIBUTOR))
        edges.append(Subgoal(source=goal, target=goals[(i + 1) % 120], n=i))
    await bound(shell).load([TEAM, *people, *goals], edges)
    return shell


async def test_a_page_of_a_hundred_nodes_is_three_round_trips(graph: Any, budget: Any) -> None:
    query = GoalMembership.by_rank(TEAM, role=at_least(Role.TEAM)).sources().including(LEADS, HELPERS)
    with budget(round_trips=3) as meter:
        page = await bound(graph).page(query, limit=100)
    assert len(page) == 100
    assert len({n.id for row in page for n in row.linked(User)}) == 110  # more than one batch
    assert meter.requests == 4
    for row in page:
        number = int(row.node.id[1:])
        assert [u.id for u in row.linked(LEADS)] == [f"u{number}"]
        assert [u.id for u in row.linked(HELPERS)] == [f"u{number + 10}"]
        assert row.rows(LEADS)[0].edge.values == {"role": Role.LEAD}
        assert row.edge.role is Role.TEAM
        assert not row.more(GoalMembership)
    with pytest.raises(InvalidRequest, match="was not asked for"):
        page.items[0].linked(Subgoal.to(Goal))


async def test_each_level_is_one_round_trip_more(graph: Any, budget: Any) -> None:
    kids = Subgoal.to(Goal).including(LEADS)
    with budget(round_trips=4):
        page = await bound(graph).page(GoalMembership.by_rank(TEAM).sources().including(LEADS, kids), limit=25)
    for row in page:
        (kid,) = row.rows(kids)
        next_ = (int(row.node.id[1:]) + 1) % 120
        assert (kid.node.id, [u.id for u in kid.linked(LEADS)]) == (f"g{next_:03}", [f"u{next_}"])


async def test_a_cursor_leads_through_the_whole_list(graph: Any) -> None:
    query = GoalMembership.by_rank(TEAM).sources()
    for order in (query, query.newest_first()):
        seen: list[str] = []
        after = None
        while True:
            page = await bound(graph).page(order, limit=50, after=after)
            seen += [row.node.id for row in page]
            after = page.cursor
            if after is None:
                break
        assert sorted(seen) == [f"g{i:03}" for i in range(120)]
        assert len(seen) == 120


async def test_targets_and_filters(graph: Any) -> None:
    goal = Goal.by_id("g007")
    page = await bound(graph).page(GoalMembership.of(goal, User).targets())
    assert {row.node.id for row in page} == {"u7", "u17"}
    page = await bound(graph).page(GoalMembership.of(goal).targets().where(attr(GoalMembership.role) == Role.TEAM))
    assert [row.node for row in page] == [TEAM]


async def test_holes_are_left_out_and_counted(graph: Any) -> None:
    query = GoalMembership.by_rank(TEAM).sources().including(LEADS)
    await bound(graph).delete_node(Goal.by_id("g003"))
    await bound(graph).delete_node(User.by_id("u5"))
    page = await bound(graph).page(query, limit=10)
    assert (len(page), page.missing) == (10, 0)
    assert next(row for row in page if row.node.id == "g005").linked(LEADS) == []
    await bound(graph).link(GoalMembership(source=Goal.by_id("g001"), target=User.by_id("gone")), target="unchecked")
    several: Any = await bound(graph).page(GoalMembership.of(Goal.by_id("g001"), User).targets())
    assert (len(several), several.missing) == (2, 1)
    await graph.create(User(id="gone"))


async def test_neighbours_of_a_node_cost_nothing(graph: Any, budget: Any) -> None:
    goal = await graph.get(Goal.by_id("g007"))
    with graph.meter() as meter:
        assert neighbours_of(goal, LEADS) == [User.by_id("u7")]
        assert await bound(graph).count_edges(goal, GoalMembership) == 3
        assert await bound(graph).count_edges(goal, Subgoal) == 1
    assert meter.requests == 0
    with budget(round_trips=1):
        (row,) = await bound(graph).including([goal], LEADS, GoalMembership.to(Team))
    assert (row.node, row.linked(Team), [u.id for u in row.linked(User)]) == (goal, [TEAM], ["u7"])


async def test_a_node_that_was_not_read_knows_nothing_of_its_edges(graph: Any) -> None:
    made = Goal(id="g007")
    assert await bound(graph).count_edges(made, GoalMembership) == 3
    partly = await graph.get(Goal.by_id("g007").only(Goal.title, Goal.id))
    for unread in (made, partly):
        with pytest.raises(InvalidRequest, match="was not read with its edge set"):
            await bound(graph).including([unread], LEADS)


async def test_a_walk_ends_in_a_cycle_and_at_its_limit(graph: Any, budget: Any) -> None:
    start = Goal.by_id("g118")
    with budget(round_trips=4):
        found = await bound(graph).walk(start, Subgoal.to(Goal), hops=3)
    assert [(hop, node.id) for hop, node in found] == [(0, "g118"), (1, "g119"), (2, "g000"), (3, "g001")]
    everything = await bound(graph).walk(start, Subgoal.to(Goal), hops=500)
    assert [hop for hop, _ in everything] == list(range(120))
    with pytest.raises(InvalidRequest, match="more than 50 nodes") as refused:
        await bound(graph).walk(start, Subgoal.to(Goal), hops=500, limit=50)
    assert (refused.value.operation, refused.value.hint) == ("walk", "Fewer hops, or a higher limit.")
    assert await bound(graph).walk(Goal.by_id("nothing"), Subgoal.to(Goal), hops=2) == []


# --- the cap ----------------------------------------------------------------------------------------------------------
async def test_beyond_the_cap_an_edge_is_there_and_not_listed(graph: Any) -> None:
    big = Goal(id="big")
    people = [User.by_id(f"u{i}") for i in range(PEOPLE)]
    await bound(graph).load([big], [GoalMembership(source=big, target=u, role=Role.CONTRIBUTOR) for u in people[:99]])
    at_the_cap = GoalMembership(source=big, target=people[99], role=Role.CONTRIBUTOR)
    beyond = GoalMembership(source=big, target=people[100], role=Role.LEAD)
    with graph.meter() as meter:
        await bound(graph).link(at_the_cap)
    assert meter.requests == 1
    assert meter.write_units <= 20
    assert not (await bound(graph).including([await graph.get(Goal.by_id("big"))], LEADS))[0].more(GoalMembership)
    with graph.meter() as meter:
        await bound(graph).link(beyond)
    assert meter.requests == 2

    node = await graph.get(Goal.by_id("big"))
    (row,) = await bound(graph).including([node], GoalMembership.to(User), LEADS)
    assert (row.more(GoalMembership), row.more(Subgoal), row.more(Subscriber)) == (True, False, True)
    assert (len(row.rows(User)), row.linked(LEADS)) == (CAP, [])
    with graph.meter() as meter:
        (row,) = await bound(graph).including([node], GoalMembership.to(User), LEADS, complete=True)
    assert meter.round_trips == 2
    assert [u.id for u in row.linked(LEADS)] == ["u100"]
    assert (row.more(GoalMembership), row.more(Subscriber), row.more(GoalMembership, Subscriber)) == (False, True, True)
    assert await bound(graph).count_edges(node, GoalMembership) == 101
    reached = await bound(graph).walk(big, LEADS, hops=1)
    assert [(hop, found.id) for hop, found in reached] == [(0, "big"), (1, "u100")]

    # An unlisted edge changes and goes like any other; room that was made is used again.
    beyond = await bound(graph).relink(beyond, attr(GoalMembership.role).set(Role.TEAM))
    beyond = await bound(graph).relink(beyond, target=people[101])
    assert await bound(graph).unlink(beyond)
    assert await bound(graph).unlink(at_the_cap)
    await bound(graph).link(GoalMembership(source=big, target=people[102], role=Role.LEAD))
    assert neighbours_of(await graph.get(Goal.by_id("big")), LEADS) == [people[102]]


async def test_all_edges_of_a_node_are_read_by_pages(graph: Any) -> None:
    big = Goal(id="big")
    people = [User(id=f"m{i}") for i in range(1000)]
    await bound(graph).load([big, *people], [GoalMembership(source=big, target=u, role=Role.TEAM) for u in people])
    row: Any = None
    seen, after = list[str](), None
    while True:
        page = await bound(graph).page(GoalMembership.of(big).targets(), limit=300, after=after)
        seen += [row.node.id for row in page]
        after = page.cursor
        if after is None:
            break
    assert sorted(seen) == sorted(user.id for user in people)
    node = await graph.get(Goal.by_id("big"))
    assert len(neighbours_of(node, GoalMembership.to(User))) == CAP
    (row,) = await bound(graph).including([node], GoalMembership.to(User), complete=True)
    assert len(row.linked(User)) == 1000


# --- conditions on what is mirrored -----------------------------------------------------------------------------------
ROLE, TAG, ON = attr(GoalMembership.role), attr(Note.tag), attr(Note.on)
CONDITIONS: Sequence[tuple[type[Any], Callable[[], Condition]]] = [
    (GoalMembership, lambda: ROLE == Role.LEAD),
    (GoalMembership, lambda: ROLE != Role.LEAD),
    (GoalMembership, lambda: ROLE < Role.TEAM),
    (GoalMembership, lambda: ROLE >= Role.LEAD),
    (GoalMembership, lambda: ROLE.is_in(Role.LEAD, Role.TEAM)),
    (GoalMembership, lambda: ROLE.between(Role.CONTRIBUTOR, Role.LEAD)),
    (GoalMembership, lambda: ROLE.exists() & ~(ROLE == Role.LEAD) & ~(ROLE == Role.TEAM)),
    (Note, lambda: TAG.starts_with("a")),
    (Note, lambda: TAG.contains("-b")),
    (Note, lambda: TAG > "a"),
    (Note, lambda: (TAG <= "a-b") | (TAG == "é")),
    (Note, lambda: ON.between(A_DAY, A_DAY) & (TAG != " ")),
]


@pytest.mark.parametrize("number", range(len(CONDITIONS)))
async def test_conditions_mean_what_the_engine_means(shell: Any, number: int) -> None:
    edge, make = CONDITIONS[number]
    goal = Goal(id="g")
    users = [User(id=f"u{i}") for i in range(6)]
    edges: list[Any] = [GoalMembership(source=goal, target=u, role=r) for u, r in zip(users, Role, strict=False)]
    tags = ("a", "a-b", "é", "b", " ", "￿𐀀")
    edges += [Note(source=goal, target=u, tag=tag) for u, tag in zip(users, tags, strict=True)]
    await bound(shell).load([goal, *users], edges)
    asked = await shell.all(edge.of(goal).where(make()))
    node = await shell.get(Goal.by_id("g"))
    assert {key.partition for key in neighbours_of(node, edge.to(User, make()))} == {e.target.partition for e in asked}
    assert 0 < len(asked) < len(await shell.all(edge.of(goal)))


async def test_edges_of_two_types_are_beyond_the_cap(graph: Any) -> None:
    two = Goal(id="two")
    members = [GoalMembership(source=two, target=User.by_id(f"u{i}"), role=Role.LEAD) for i in range(CAP + 1)]
    subgoals = [Subgoal(source=two, target=Goal.by_id(f"g{i:03}")) for i in range(CAP + 1)]
    await bound(graph).load([two], [*members[:-1], *subgoals[:-1]])
    for edge in (members[-1], subgoals[-1]):
        await bound(graph).link(edge)
    (row,) = await bound(graph).including([await graph.get(Goal.by_id("two"))], LEADS, Subgoal.to(Goal))
    assert (row.more(GoalMembership), row.more(Subgoal)) == (True, True)


async def test_a_walk_reads_its_start_as_its_key_says(graph: Any) -> None:
    start = Goal.by_id("g118")
    for key, units in ((start, 0.5), (start.consistent(), 1.0)):
        with graph.meter() as meter:
            await bound(graph).walk(key, Subgoal.to(Goal), hops=0)
        assert meter.read_units == units
    with pytest.raises(InvalidRequest, match="only"):
        await bound(graph).walk(start.only(Goal.title), Subgoal.to(Goal), hops=1)


async def test_neighbours_are_a_mapping_of_what_was_asked_for(graph: Any) -> None:
    (row,) = await bound(graph).including([await graph.get(Goal.by_id("g007"))], LEADS, HELPERS)
    assert list(row.neighbours) == [LEADS, HELPERS]
    assert [one.node.id for one in row.neighbours[LEADS]] == ["u7"]
    assert row.neighbours.get(Subgoal.to(Goal), "nothing") == "nothing"
    for ask in (row.linked, row.rows):
        with pytest.raises(InvalidRequest, match="was not asked for"):
            ask(Subgoal.to(Goal))


async def test_neighbours_may_lie_in_two_tables(shell: Shell) -> None:
    other = GraphTable("others", indexes=["gsi0"])

    class Place(Node, table=other, type="PLACE"):
        name: str = ""

    class Road(Edge[Place, Place], table=other, type="ROAD"):
        km: int = 0

        @other.index("gsi0")
        @staticmethod
        def by_length(km: int = ANY) -> str:
            """Shortest first."""
            return f"{km:06}"

    here, there = Place(id="here"), Place(id="there")
    await bound(shell).load([here, there], [Road(source=here, target=there, km=3)])
    goal, lead = Goal(id="g"), User(id="u")
    await bound(shell).load([goal, lead], [GoalMembership(source=goal, target=lead, role=Role.LEAD)])
    read: list[Any] = [await shell.get(Goal.by_id("g")), await shell.get(Place.by_id("here"))]
    roads = Road.to(Place)
    rows = await bound(shell).including(read, LEADS, roads)
    assert [rows[0].linked(LEADS), rows[1].linked(roads)] == [[lead], [there]]
    assert await shell.check(other) == []


async def test_a_node_is_found_where_it_lies_whatever_its_class_makes_of_its_id(shell: Shell) -> None:
    tags = GraphTable("tags", indexes=["gsi0"])

    class Tag(Node, table=tags, type="TAG"):
        def __post_init__(self) -> None:
            self.id = self.id.lower()

    class Near(Edge[Tag, Tag], table=tags, type="NEAR"):
        n: int = 0

        @tags.index("gsi0")
        @staticmethod
        def by_n(n: int = ANY) -> str:
            """In their order."""
            return f"{n:06}"

    start, end = Tag(id="a"), Tag(id="b")
    end.id = "B"
    await bound(shell).load([start, end], [Near(source=start, target=end)])
    assert [(hop, tag.id) for hop, tag in await bound(shell).walk(start, Near.to(Tag), hops=1)] == [(0, "a"), (1, "b")]


@pytest.mark.parametrize("id", ["a\nb", "x" * 3000, "\ud800"])
def test_an_end_in_json_is_checked_as_an_id_is(id: str) -> None:
    adapter = pydantic.TypeAdapter[Any](End[User])
    assert adapter.validate_python("USER-ada") == User.by_id("ada")
    with pytest.raises(pydantic.ValidationError):
        adapter.validate_python(f"USER-{id}")


async def test_the_ends_of_an_edge_say_their_ids(graph: Any) -> None:
    """Whatever the id holds: of edges that were made, read by key, through an index, and of ends as keys."""
    for id in ("g-1", "a#b%2D", "é-"):
        goal, ada = Goal(id=id), User(id=f"{id}-u")
        await bound(graph).load([goal, ada], [GoalMembership(source=goal, target=ada)])
        made = GoalMembership(source=Goal.by_id(id), target=ada)
        read = await graph.get(GoalMembership.between(goal, ada))
        (found,) = await graph.all(GoalMembership.by_rank(ada))
        for edge in (made, read, found):
            assert (edge.source.id, edge.target.id) == (id, f"{id}-u")
            assert edge.source == Goal.by_id(id)
