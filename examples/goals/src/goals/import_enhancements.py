"""Import a file of enhancement proposals: afterwards every goal of the file is what the file says.

New nodes are loaded in bulk with their edges; of goals that are there only what differs is written, so a second import
of the same file reads and writes nothing, and one that was broken off is finished by the next (edges are loaded before
the goals they come from). Goals that the file does not name, subscribers, sub-goals and key results of people's own
stay; so do the names of users and teams that are there. It is bulk work without locks: not meant to run beside changes
of the same goals.

A key result that a file no longer has is deleted. On AWS its id stays taken until a sweep; where a later file has it
again, the import sweeps the table first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeVar

from goals.enhancements import STAGES, Enhancement, Milestone, key_result_id, position_of
from goals.model import (
    EVERYBODY,
    Goal,
    GoalKind,
    GoalMembership,
    KeyResult,
    KeyResultMembership,
    Organisation,
    PartOf,
    Replaces,
    Role,
    SeeAlso,
    Team,
    TeamOrganisation,
    User,
    id_of,
    records,
)
from singletable import AlreadyExists, Database, KeyOf, attr, key_of
from singletable.graph import Edge, Graph, Node, Row, members_of

N = TypeVar("N", bound=Node)
AnyEdge = Edge[Any, Any]
Progress = Callable[[int, int], None]
"""Called with the number of steps done and the number of all."""

IMPORTED: tuple[type[AnyEdge], ...] = (GoalMembership, KeyResultMembership, KeyResult, PartOf, SeeAlso, Replaces)
"""The edge types that a file decides on, for its goals."""
COMPARED = ("title", "kind", "status", "progress", "created", "due")

UNDATED = date(1, 1, 1)
"""Of edges whose goal has no date: an edge without one would be in no index by date."""

Place = tuple[type[AnyEdge], KeyOf[Any]]
"""An edge of one goal: its type and target."""
Values = Mapping[str, Any]
"""What an edge set holds of an edge."""


@dataclass
class Wanted:
    """What a file says: nodes by key, edges by their source."""

    nodes: dict[KeyOf[Any], Node] = field(default_factory=dict[KeyOf[Any], Node])
    edges: dict[KeyOf[Any], list[AnyEdge]] = field(default_factory=lambda: defaultdict(list))

    def add(self, node: N) -> N:
        self.nodes.setdefault(key_of(node), node)
        return node

    def join(self, edge: AnyEdge) -> None:
        self.edges[edge.source].append(edge)


@dataclass(frozen=True)
class Imported:
    """How many nodes are new, and how many goals changed."""

    new: int
    changed: int


def import_enhancements(db: Database, file: Sequence[Enhancement], progress: Progress) -> Imported:
    """Make the goals what the file says.

    Reads every node of the file, 100 a request; loads the new ones with their edges, 25 a request at 1 W each; goals
    that differ take an update, and a transaction for each edge that does.
    """
    wanted = graph_of(file)
    there: dict[KeyOf[Any], Node] = {key_of(n): n for n in db.get_many(list(wanted.nodes), consistent=True)}
    new = [node for key, node in wanted.nodes.items() if key not in there]
    progress(0, len(there) + 1)
    _load(db, new, [edge for node in new for edge in wanted.edges[key_of(node)]])
    changed = 0
    for done, (key, node) in enumerate(there.items(), start=1):
        said = wanted.nodes[key]
        if isinstance(node, Goal) and isinstance(said, Goal):
            changed += reconcile(db, node, said, wanted.edges[key])
        progress(done, len(there) + 1)
    progress(len(there) + 1, len(there) + 1)
    return Imported(len(new), changed)


def _load(db: Database, nodes: Sequence[Node], edges: Sequence[AnyEdge]) -> None:
    """Load them; where ids of deleted nodes are still taken, end those deletions first, by two scans of the table."""
    try:
        Graph(db).load(nodes, edges)
    except AlreadyExists:
        if not db.sweep_table(records):
            raise
        Graph(db).load(nodes, edges)


# --- what a file says -------------------------------------------------------------------------------------------------
def graph_of(file: Iterable[Enhancement]) -> Wanted:
    """An enhancement is an objective: teams in it, authors leading it, reviewers and approvers contributing; each
    milestone is a key result with the objective's leads and its owning team."""
    graph = Wanted()
    everybody = graph.add(Organisation(id=EVERYBODY, name="Everybody"))
    for e in file:
        goal = graph.add(
            Goal(id=e.id, title=e.title, status=e.status, progress=e.progress, created=e.created, due=_due(e))
        )
        for edge in _memberships(graph, e, goal, GoalMembership, e.contributors, e.teams):
            graph.join(edge)
        for kind, ids in ((SeeAlso, e.see_also), (Replaces, e.replaces)):
            for id in sorted(ids):
                graph.join(kind(source=goal, target=Goal.by_id(id), since=e.created or UNDATED))
        for milestone in e.milestones:
            _add_milestone(graph, e, goal, milestone)
    for team in [node for node in graph.nodes.values() if isinstance(node, Team)]:
        graph.join(TeamOrganisation(source=team, target=everybody, name=team.name))
    return graph


def _add_milestone(graph: Wanted, e: Enhancement, goal: Goal, milestone: Milestone) -> None:
    made = graph.add(
        Goal(
            id=key_result_id(e.id, milestone.stage),
            title=f"{milestone.stage.capitalize()} in {milestone.release}",
            kind=GoalKind.KEY_RESULT,
            status="reached" if milestone.is_reached else "planned",
            progress=100 if milestone.is_reached else 0,
            created=e.created,
            due=milestone.release,
        )
    )
    graph.join(KeyResult(source=goal, target=made, position=str(position_of(milestone.stage))))
    graph.join(PartOf(source=made, target=goal, since=e.created or UNDATED))
    for edge in _memberships(graph, e, made, KeyResultMembership, (), (e.owner,)):
        graph.join(edge)


def _memberships(
    graph: Wanted, e: Enhancement, goal: Goal, membership: Any, contributors: Iterable[str], teams: Iterable[str]
) -> Iterator[AnyEdge]:
    for role, names in ((Role.LEAD, e.leads), (Role.CONTRIBUTOR, contributors), (Role.TEAM, teams)):
        kind = Team if role is Role.TEAM else User
        for name in sorted(names):
            target = graph.add(kind(id=name, name=name))
            yield membership(source=goal, target=target, role=role, since=e.created or UNDATED)


def _due(e: Enhancement) -> str:
    """The release of the first milestone that is still to be reached; of the last one, where all are."""
    open_ = [m.release for m in e.milestones if not m.is_reached]
    return open_[0] if open_ else e.milestones[-1].release if e.milestones else ""


# --- what differs -----------------------------------------------------------------------------------------------------
def reconcile(db: Database, stored: Goal, wanted: Goal, edges: Sequence[AnyEdge]) -> bool:
    """Write what of a goal and its edges differs; False where nothing did, and nothing was sent."""
    differing = [name for name in COMPARED if getattr(stored, name) != getattr(wanted, name)]
    there = dict(_stored_edges(db, stored))
    # Dates are not in the edge set: they differ when the goal's own does.
    changed = [edge for edge in edges if "created" in differing or not _is_as(edge, there.get(_place(edge)))]
    named = {_place(edge) for edge in edges}
    gone = [place for place in there if place not in named and not _stays(stored, place)]
    for edge in changed:
        _write(db, edge, is_there=_place(edge) in there)
    for place in gone:
        _remove(db, stored, place)
    if differing:
        # Last: a goal whose edges were not all written yet still differs, and the next import goes on with it.
        db.update(key_of(stored), *(attr(getattr(Goal, name)).set(getattr(wanted, name)) for name in differing))
    return bool(differing or changed or gone)


def _stored_edges(db: Database, goal: Goal) -> Iterator[tuple[Place, Values]]:
    """The goal's edges as its edge set has them, for nothing; read where it does not hold all."""
    for kind in IMPORTED:
        if Row(goal).more(kind):
            for edge in db.iter(kind.of(goal)):
                yield _place(edge), {name: getattr(edge, name) for name in kind.__mirrors__ or ()}
        else:
            for member in members_of(goal, [kind]):
                yield (kind, member.target), member.values


def _place(edge: AnyEdge) -> Place:
    return type(edge), edge.target


def _is_as(edge: AnyEdge, values: Values | None) -> bool:
    return values is not None and all(getattr(edge, name) == value for name, value in values.items())


def _stays(goal: Goal, place: Place) -> bool:
    """Whether people may have made it: what an objective is part of, and key results that no known stage has."""
    kind, target = place
    milestones = {key_result_id(goal.id, stage) for stage in STAGES}
    return kind is PartOf or (kind is KeyResult and id_of(target) not in milestones)


def _write(db: Database, edge: AnyEdge, *, is_there: bool) -> None:
    if not is_there:
        return Graph(db).link(edge)
    data = [name for name in ("role", "since", "position") if hasattr(type(edge), name)]
    values = (attr(getattr(type(edge), name)).set(getattr(edge, name)) for name in data)
    key: Any = key_of(edge)
    Graph(db).relink(key, *values)
    return None


def _remove(db: Database, goal: Goal, place: Place) -> None:
    kind, target = place
    if kind is KeyResult:
        Graph(db).delete_node(target)
    else:
        Graph(db).unlink(kind.between(goal, target))
