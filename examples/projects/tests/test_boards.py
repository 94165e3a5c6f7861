"""Boards: what each mutation does, and what the application does with them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from examples.projects.tests.conftest import ORGANISATION
from examples_shared.testing.commandline import environ
from projects.errors import Invalid, Missing, Refused
from projects.model import (
    Project,
    delete_comment,
    delete_shape,
    move_shape,
    put_comment,
    put_shape,
    rename,
)
from projects.service import Service, blobs_at
from singletable.documents import LocalBlobs, Mutation, ObjectBlobs

SHAPE = {"kind": "note", "x": 1, "y": 2.5, "text": "Call the bank", "more": {"any": [None, True]}}
CLIENT = "c1"


@pytest.fixture
def board(app: Service) -> Service:
    app.create_board(ORGANISATION, "b1", "Atlas", "")
    return app


def submit(app: Service, *mutations: Mutation) -> Project:
    done = app.boards.last_ids("b1", [CLIENT])[CLIENT]
    outcomes = app.boards.apply("b1", [each.by(CLIENT, done + n) for n, each in enumerate(mutations, 1)])
    assert [outcome.error for outcome in outcomes] == [None] * len(mutations)
    return app.boards.head("b1")


def test_shapes(board: Service) -> None:
    head = submit(board, put_shape(id="s1", shape=SHAPE), put_shape(id="s2", shape={}))
    assert head.shapes.all() == {"s1": SHAPE, "s2": {}}
    head = submit(board, move_shape(id="s1", x=10, y=-0.5))
    assert head.shapes["s1"] == {**SHAPE, "x": 10, "y": -0.5}
    head = submit(board, delete_shape(id="s1"), delete_shape(id="s1"))
    assert list(head.shapes) == ["s2"]


def test_a_move_of_a_shape_that_is_gone_brings_nothing_back(board: Service) -> None:
    head = submit(board, put_shape(id="s1", shape=SHAPE), delete_shape(id="s1"), move_shape(id="s1", x=1, y=1))
    assert len(head.shapes) == 0
    assert head.version == 1


def test_whole_numbers_stay_whole(board: Service) -> None:
    submit(board, put_shape(id="s1", shape=SHAPE), move_shape(id="s1", x=3, y=4))
    moved = board.boards.head("b1").shapes["s1"]
    assert (type(moved["x"]), type(moved["y"])) == (int, int)


def test_comments_and_the_name(board: Service) -> None:
    said = {"text": "Agreed", "author": "ada", "shape": None}
    head = submit(board, put_comment(id="c1", comment=said), rename(name="Charts"))
    assert (head.comments.all(), head.name) == ({"c1": said}, "Charts")
    head = submit(board, delete_comment(id="c1"), delete_comment(id="c2"))
    assert len(head.comments) == 0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("put_shape", {"id": "s1"}),
        ("put_shape", {"id": "s1", "shape": []}),
        ("put_shape", {"id": 1, "shape": {}}),
        ("put_shape", {"id": "", "shape": {}}),
        ("move_shape", {"id": "s1", "x": "1", "y": 2}),
        ("rename", {"name": "x" * 2000}),
        ("$drop_everything", {}),
    ],
)
def test_what_cannot_be_meant_is_rejected_and_changes_nothing(board: Service, name: str, arguments: Any) -> None:
    submit(board, put_shape(id="s1", shape=SHAPE))
    (outcome,) = board.boards.apply("b1", [Mutation.of(name, arguments).by("c2", 1)])
    assert outcome.status == "rejected"
    assert not board.boards.diff("b1", 1, 2)


def test_mutate_is_for_whoever_keeps_no_count(board: Service) -> None:
    assert board.mutate("b1", "rename", '{"name": "One"}') == 1
    assert board.mutate("b1", "rename", '{"name": "Two"}') == 2
    assert board.version("b1").name == "Two"
    with pytest.raises(Invalid, match="no JSON"):
        board.mutate("b1", "rename", "{")
    with pytest.raises(Invalid, match=r"no mutation 'renmae'; it has .*rename"):
        board.mutate("b1", "renmae", "{}")
    with pytest.raises(Invalid, match="rename takes no argument 'more'"):
        board.mutate("b1", "rename", '{"name": "Three", "more": 1}')
    with pytest.raises(Refused, match="as version 3"):
        board.mutate("b1", "rename", "{}")
    with pytest.raises(Missing, match="no board 'nope'"):
        board.mutate("nope", "rename", "{}")


def test_what_was_done_to_one_board_is_done_to_another(board: Service) -> None:
    board.branch("b1", "aside", None)
    submit(board, put_shape(id="s1", shape=SHAPE), rename(name="Charts"))
    board.mutate("aside", "put_shape", '{"id": "own", "shape": {}}')
    done = board.replay("b1", 0, "aside")
    assert (len(done.mutations), done.rejected) == (2, ())
    assert set(board.boards.head("aside").shapes) == {"own", "s1"}
    assert board.replay("b1", 0, "aside").after == done.after
    with pytest.raises(Missing, match="no project 'nope'"):
        board.replay("b1", 0, "nope")


def test_a_board_and_a_repository_are_not_of_one_kind(board: Service) -> None:
    board.repositories.create(ORGANISATION, "r1")
    with pytest.raises(Refused, match="not of one kind"):
        board.replay("b1", 0, "r1")


def test_restore_brings_everything_back(board: Service) -> None:
    submit(board, put_shape(id="s1", shape=SHAPE), rename(name="Charts"))
    submit(board, delete_shape(id="s1"), rename(name="Gone"))
    assert board.restore("b1", 1) == 3
    assert not board.boards.diff("b1", 1, 3)
    assert board.version("b1").parent == ORGANISATION


# --- where contents lie -----------------------------------------------------------------------------------------------
def test_blobs_lie_in_a_directory_or_at_an_address() -> None:
    assert isinstance(blobs_at("data/blobs"), LocalBlobs)
    assert isinstance(blobs_at("s3://bucket/prefix"), ObjectBlobs)
    assert blobs_at("memory:///").put("o/a.gz", b"1")


@pytest.mark.parametrize("place", ["file:///tmp/x", "ftp://host/x", "s3://"])
def test_no_blobs_lie_anywhere_else(place: str) -> None:
    with pytest.raises(Invalid, match="blob"):
        blobs_at(place)


@pytest.mark.parametrize("action", ["mutate", "restore"])
def test_what_waits_is_checked_when_an_operator_applies_it(app: Service, action: str) -> None:
    """As the server does: each mutation in the name of who pushed it; the operator's own have no name."""
    ada, eve, organisation = "ada@example.com", "eve@evil.example", "example.com"
    app.create_board(organisation, "b1", "Atlas", "")
    signed = put_comment(id="1", comment={"text": "mine", "author": ada})
    forged = put_comment(id="2", comment={"text": "forged", "author": ada})
    waiting = [
        signed.by("a", 1, principal=ada),
        forged.by("g", 1, principal="grace@example.com"),
        rename(name="Eve's").by("e", 1, principal=eve),
        rename(name="Nobody's").by("n", 1, principal="@"),
    ]
    app.boards.submit("b1", waiting)
    if action == "mutate":
        app.mutate("b1", "put_shape", '{"id": "s1", "shape": {}}')
        assert set(app.boards.head("b1").shapes) == {"s1"}
    else:
        app.restore("b1", 0)
    outcomes = app.boards.outcomes("b1", [(each.client, each.id) for each in waiting])
    assert [outcome and outcome.status for outcome in outcomes] == ["applied", "rejected", "rejected", "rejected"]
    assert app.boards.head("b1").name == "Atlas"


def test_the_table_knows_what_sync_keeps_in_it() -> None:
    """In a program that serves nobody, so that `check` does."""
    program = (
        "from projects.model import projects\n"
        "assert all(projects.model_of_type(name) for name in ('_sync_group', '_sync_client'))"
    )
    subprocess.run([sys.executable, "-c", program], env=environ(), check=True)
