from __future__ import annotations

from examples_shared.testing.databases import fresh
from organisations.check import check
from organisations.walkthrough import walkthrough
from singletable import Database


def test_every_action_is_walked_through(db: Database) -> None:
    steps = list(walkthrough(db))
    assert {step.name for step in steps} == {
        "import",
        "organisation details",
        "put a user",
        "get a user",
        "create an organisation",
        "put a service",
        "invite",
        "user details",
        "accept",
        "decline",
        "add to groups",
        "remove from groups",
        "get an organisation",
        "put an organisation",
        "refresh a user",
        "refresh an organisation",
        "message a group",
        "delete a service",
        "remove the last owner",
        "remove a user",
        "may",
        "explain",
        "who may",
        "what may I reach",
        "open invitations",
        "delete an organisation",
    }
    assert all(step.requests >= step.round_trips >= 1 and step.seconds > 0 for step in steps)
    assert check(db) == []
    assert [(step.requests, step.read_units) for step in steps if step.name == "may"] == [(1, 1.0), (1, 1.0)]


def test_it_costs_what_it_says_with_the_details_in_one_query(db: Database) -> None:
    for step in walkthrough(db):
        if step.name in ("organisation details", "user details", "get a user", "get an organisation"):
            assert (step.requests, step.write_units) == (1, 0.0)


def test_it_makes_its_table_and_runs_again() -> None:
    with fresh() as db:
        first, second = list(walkthrough(db)), list(walkthrough(db))
        assert [step.name for step in first] == [step.name for step in second]
        assert check(db) == []
