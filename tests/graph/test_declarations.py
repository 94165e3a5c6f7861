"""What can't be a graph is refused when its class is made, with what to do instead."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

import pytest

from singletable import ANY, InvalidRequest, InvalidValue, Key, Table, attr, field
from singletable.errors import DeclarationError
from singletable.graph import Edge, GraphTable, Node
from tests.graph.models import Account, Goal, GoalMembership, Role, Subgoal, Team, User


class Dashed(Enum):
    A_B = "A-B"


table = GraphTable("declared", indexes=["gsi0", "gsi1"])


class Place(Node, table=table, type="PLACE"):
    name: str = ""


class Indexed(Edge[Place, Place]):
    """A mixin of every edge below: its index."""

    n: int = 0

    @table.index("gsi0")
    @staticmethod
    def by_n(n: int = ANY) -> str:
        return f"{n:03}"


@pytest.mark.parametrize("word", ["A-B", "", "A%", "A\n"])
def test_a_type_is_one_word_of_keys(word: str) -> None:
    with pytest.raises(DeclarationError, match="a type is one word"):

        class Wrong(Node, table=table, type=word):
            pass

    with pytest.raises(DeclarationError, match="a type is one word"):

        class Other(Edge[Place, Place], table=table, type=word):
            n: int = 0


def test_a_node_and_an_edge_share_no_word() -> None:
    with pytest.raises(DeclarationError, match="both of type 'PLACE'"):

        class Wrong(Indexed, table=table, type="PLACE"):
            pass


def test_a_graph_lies_in_a_table_of_a_graph() -> None:
    plain = Table("plain")
    with pytest.raises(DeclarationError, match="is not a table of a graph"):

        class Wrong(Node, table=plain, type="WRONG"):
            pass


def test_an_edge_is_in_an_index_that_holds_every_edge() -> None:
    with pytest.raises(DeclarationError, match="in no index that holds every edge"):

        class Sparse(Edge[Place, Place], table=table, type="SPARSE"):
            n: int | None = None

            @table.index("gsi0")
            @staticmethod
            def by_n(n: int = ANY) -> str:
                return f"{n:03}"

    with pytest.raises(DeclarationError, match="in no index that holds every edge"):

        class Unfindable(Edge[Place, Place], table=table, type="UNFINDABLE"):
            pass


def test_the_partition_of_an_edge_index_is_the_target() -> None:
    with pytest.raises(DeclarationError, match="the partition of an edge's index is its target"):

        class TwoTexts(Edge[Place, Place], table=table, type="TWO"):
            n: int = 0

            @table.index("gsi0")
            @staticmethod
            def by_n(n: int = ANY) -> Key:
                return "place", f"{n:03}"


def test_a_node_is_in_no_index() -> None:
    with pytest.raises(DeclarationError, match="a node is found by its id and through edges"):

        class Found(Node, table=table, type="FOUND"):
            n: int = 0

            @table.index("gsi0")
            @staticmethod
            def by_n(n: int = ANY) -> str:
                return f"{n:03}"


@pytest.mark.parametrize("mirrored", [("nothing",), ("n",), ("maybe",), ("target",), ("source",), ("dashed",)])
def test_what_can_not_be_mirrored(mirrored: tuple[str, ...]) -> None:
    with pytest.raises(DeclarationError, match="mirror"):

        class Mirrored(Indexed, table=table, type="MIRRORED", mirrors=mirrored):
            maybe: str | None = None
            dashed: Dashed = Dashed.A_B


def test_an_edge_has_two_ends_and_they_are_nodes_of_its_table() -> None:
    with pytest.raises(DeclarationError, match="says which nodes it joins"):

        class Endless(Edge, table=table, type="ENDLESS"):  # type: ignore[type-arg]
            pass

    with pytest.raises(DeclarationError, match="is not a node"):

        class ToText(Edge[Place, str], table=table, type="TOTEXT"):  # type: ignore[type-var]
            pass

    with pytest.raises(DeclarationError, match="nodes of another table"):

        class Abroad(Edge[Place, Goal], table=table, type="ABROAD"):
            pass

    class NoType(Node):
        pass

    with pytest.raises(DeclarationError, match="NoType is not an entity with a table"):

        class ToMixin(Edge[Place, NoType], table=table, type="TOMIXIN"):
            pass


def test_several_edge_types_join_the_same_nodes() -> None:
    class One(Indexed, table=table, type="ONE"):
        pass

    class Another(Indexed, table=table, type="ANOTHER"):
        pass

    here, there = Place(id="1"), Place(id="2")
    assert One.between(here, there) != Another.between(here, there)


def test_nothing_of_a_graph_expires() -> None:
    with pytest.raises(DeclarationError, match="ends can't be expires=True"):

        class Passing(Node, table=table, type="PASSING"):
            ends: datetime = field(expires=True)

    with pytest.raises(DeclarationError, match="ends can't be expires=True"):

        class PassingEdge(Indexed, table=table, type="PASSINGEDGE"):
            ends: datetime = field(expires=True)


def test_an_edge_has_no_unique_values_and_no_version_of_its_own() -> None:
    with pytest.raises(DeclarationError, match="code can't be unique=True"):

        class Coded(Indexed, table=table, type="CODED"):
            code: str = field(unique=True)

    with pytest.raises(DeclarationError, match="count can't be version=True"):

        class Counted(Indexed, table=table, type="COUNTED"):
            count: int = field(default=0, version=True)


def test_an_end_takes_its_own_nodes_only() -> None:
    goal, user = Goal(id="1"), User(id="1")
    for wrong in (goal, "USER-1", Goal.by_id("1"), Account(id="1", email="a"), None):
        with pytest.raises(InvalidValue, match="a User or Team or its key is expected"):
            GoalMembership.between(goal, wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="a Goal or its key is expected"):
        GoalMembership.between(user, user)  # type: ignore[arg-type]
    assert GoalMembership.between(goal, user) == GoalMembership.between(Goal.by_id("1"), User.by_id("1"))


def test_a_subclass_of_a_node_is_another_kind_of_node() -> None:
    class Town(Place, table=table, type="TOWN"):
        pass

    class Road(Indexed, table=table, type="ROAD"):
        pass

    with pytest.raises(InvalidValue, match="a Place or its key is expected"):
        Road.between(Place(id="1"), Town(id="2"))


def test_neighbours_are_asked_for_by_what_the_edge_set_mirrors() -> None:
    role = attr(GoalMembership.role)
    with pytest.raises(InvalidRequest, match=r"GoalMembership\.since is not mirrored"):
        GoalMembership.to(User, (role == Role.LEAD) & ~(attr(GoalMembership.since) == 1))  # type: ignore[operator]
    with pytest.raises(InvalidRequest, match="is not mirrored in the edge set of GoalMembership"):
        GoalMembership.to(User, attr(User.name) == "Ada")
    with pytest.raises(InvalidRequest, match="is not mirrored"):
        Subgoal.to(Goal, attr(Subgoal.n) == 1)
    with pytest.raises(InvalidRequest, match="GoalMembership goes to no Goal"):
        GoalMembership.to(Goal)
    with pytest.raises(InvalidValue):
        GoalMembership.to(User, role == "LEAD")  # type: ignore[arg-type]
    assert repr(GoalMembership.to(Team, role.is_in(Role.TEAM, Role.LEAD))) == "GoalMembership.to(Team)"
