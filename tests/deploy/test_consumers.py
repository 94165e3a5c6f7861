"""The role of one consumer of a stream reaches its own leases, tries and dead letters, and nobody else's."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Table
from singletable.foundation import model_of
from singletable.streams import Changes
from singletable.tasks import Tasks
from singletable_deploy import Deployment, Function, Role, handles, runs
from singletable_deploy.cloudformation import template
from tests.support.attempts import table_arn
from tests.support.iam import Attempt, is_allowed
from tests.support.templates import statements_of

ACTIONS = "GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "BatchWriteItem"
OTHERS = "copies", "mail-2", "mail#", "mai", "MAIL", "mail_", "m*"
"""Names that begin alike, differ in punctuation, or are a pattern."""


def partitions_of(changes: Changes) -> list[str]:
    """A partition of each kind of its state."""
    state = changes.consumer.state
    models = [model_of(kind) for kind in (state.consumer, state.lease, state.attempt, state.dead_letter)]
    given: list[dict[str, Any]] = [
        dict.fromkeys(model.key.templates[0].names, "stream") | {model.key.templates[0].names[0]: changes.name}
        for model in models
    ]
    return [model.key.templates[0].prefix(values) for model, values in zip(models, given, strict=True)]


@pytest.mark.parametrize("leases", ["own", "same"])
@pytest.mark.parametrize("name", ["mail", "m*l"])
def test_a_consumer_reaches_no_others_state(leases: Any, name: str) -> None:
    table = Table("shop", stream="new_and_old")
    changes = Changes(table, name=name, leases=leases)
    deployment = Deployment("shop", list({t.name: t for t in (table, changes.leases)}.values()), [it(changes)])
    held = statements_of(template(deployment), "It")

    def may(action: str, partition: str) -> bool:
        keys = {"dynamodb:LeadingKeys": (partition,)}
        return is_allowed(held, Attempt(f"dynamodb:{action}", table_arn(changes.leases.name), keys))

    own = partitions_of(changes)
    assert len(set(own)) == 4
    for action in ACTIONS:
        assert [may(action, partition) for partition in own] == [True] * 4
        for other in (*OTHERS, "mail"[: 0 if name == "mail" else 4] or "male"):
            others = partitions_of(Changes(table, name=other, leases=leases))
            assert [may(action, partition) for partition in others] == [False] * 4
        assert not may(action, "customer#1")


def it(changes: Changes) -> Role:
    return Role("it", [handles(changes)])


def test_every_worker_may_read_the_hold_and_nothing_else_of_the_tools() -> None:
    """Also a function behind the stream, whose role says nothing of it."""
    table = Table("shop", indexes=["gsi1"], stream="new_and_old")
    changes, tasks = Changes(table), Tasks(table, index="gsi1")
    function = Function("work", "some.f", Role("function", [], service="lambda"), changes)
    roles = [it(changes), Role("tasks", [runs(tasks)])]
    made = template(Deployment("shop", [table, changes.leases], roles, functions=[function]))
    hold = {"dynamodb:LeadingKeys": ("_migration",)}
    for role in ("It", "Tasks", "Function"):
        held = statements_of(made, role)
        assert is_allowed(held, Attempt("dynamodb:GetItem", table_arn("shop"), hold))
        for action in ("PutItem", "UpdateItem", "Query"):
            assert not is_allowed(held, Attempt(f"dynamodb:{action}", table_arn("shop"), hold))
