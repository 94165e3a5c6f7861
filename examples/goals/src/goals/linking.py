"""Nodes with their edges in one transaction, and what the application says where that is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from goals.changes import TRIES
from goals.errors import AlreadyThere, Changed, Difference, Invalid, Missing
from goals.model import GoalMembership, KeyResultMembership, Role, TeamMembership, TeamRole, User, id_of
from singletable import AlreadyExists, Database, KeyOf, NotFound, TransactionCancelled, attr, key_of
from singletable.errors import TransactionConflict
from singletable.graph import Edge, EdgeMoved, Graph, Node, link

AnyEdge = Edge[Any, Any]
RoleEdge = GoalMembership | KeyResultMembership | TeamMembership
N = TypeVar("N", bound=Node)


def create_linked(db: Database, made: N, edges: Sequence[AnyEdge]) -> N:
    """A new node with its edges: all or nothing, 1 request. AlreadyThere; Missing, with the node that is not there."""
    try:
        with db.transaction() as tx:
            tx.create(made)
            for edge in edges:
                tx.add(link(edge))
    except TransactionCancelled as cancelled:
        raise refusal_of(cancelled) from cancelled
    return made


def refusal_of(cancelled: TransactionCancelled) -> Exception:
    """What the application says of a transaction's first failure."""
    failure = cancelled.failures[0]
    what, id = failure.key.kinds[0].__name__.lower(), id_of(failure.key)
    if isinstance(failure.error, NotFound):
        return Missing(what, id)
    if isinstance(failure.error, AlreadyExists):
        return AlreadyThere(f"there is a {what} {id!r} already")
    return cancelled


def missing_node(error: NotFound, otherwise: str) -> Missing:
    """Which node of a link was not there, as the library's error says it."""
    key: Any = error.key
    return Missing("node", otherwise) if key is None else Missing(key.kinds[0].__name__.lower(), id_of(key))


def check_fits(who: KeyOf[Any], role: Role) -> None:
    """Invalid for a team that leads, or a user in the role TEAM."""
    if (who.kinds[0] is User) is (role is Role.TEAM):
        raise Invalid("a user is a lead or a contributor; a team or organisation has the role team", "role")


# --- roles ------------------------------------------------------------------------------------------------------------
def read_edge(db: Database, edge: RoleEdge) -> Any:
    """The edge that is stored between the same nodes."""
    return db.get(key_of(edge).consistent())


def set_role(db: Database, wanted: RoleEdge, was: Role | TeamRole | None, stored: Any, *, is_new: bool = False) -> None:
    """Link an edge, or give the one that is stored, as it was read, the role. 1 request; 2 more each time when somebody
    else was faster. Changed where `was` is given and the role is neither that nor the wanted one, AlreadyThere where it
    is to be new and is another; Missing."""
    for _ in range(TRIES):
        _check_role(wanted, was, stored)
        if is_new and stored is not None and stored.role is not wanted.role:
            raise AlreadyThere(f"the role is {stored.role.word} already: change it in the list")
        if stored is not None and stored.role is wanted.role:
            return None
        try:
            if stored is None:
                return Graph(db).link(wanted)
            Graph(db).relink(stored, attr(type(wanted).role).set(wanted.role))
        except (AlreadyExists, EdgeMoved):
            stored = read_edge(db, wanted)
        except NotFound as error:
            if stored is None:
                raise missing_node(error, id_of(wanted.source)) from error
            stored = read_edge(db, wanted)
        else:
            return None
    raise TransactionConflict("the role was changed by others again and again", hint="Try again later.")


def _check_role(wanted: RoleEdge, was: Role | TeamRole | None, stored: Any) -> None:
    there = None if stored is None else stored.role
    if was is not None and there is not was and there is not wanted.role:
        said = "nothing" if there is None else there.word
        what = "part in the team" if isinstance(wanted, TeamMembership) else "part in the goal"
        who = wanted.source if isinstance(wanted, TeamMembership) else wanted.target
        raise Changed(f"the {what} of {id_of(who)!r}", {"role": Difference(was.word, said, wanted.role.word)})
