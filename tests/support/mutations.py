"""Requests that nobody may make, from those that an application makes: each is one step outside of its role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tests.support.attempts import ACCOUNT, REGION
from tests.support.iam import Attempt

KEYS = "dynamodb:LeadingKeys"
FOREIGN_ACTIONS = (
    *("DeleteTable", "UpdateTable", "PartiQLDelete", "PartiQLSelect", "ExportTableToPointInTime", "CreateBackup"),
    *("RestoreTableFromBackup", "PartiQLUpdate"),
)
FOREIGN_KEY = "elsewhere#1"


def outside(attempt: Attempt) -> Iterator[tuple[str, Attempt]]:
    """Attempts that differ from an allowed one in a table, an index, an action or a key, each with what differs."""
    head, table, part = _parts(attempt.resource)
    yield "table", replace(attempt, resource=f"{head}{table}-other{part}")
    yield "account", replace(attempt, resource=attempt.resource.replace(ACCOUNT, ACCOUNT[::-1]))
    yield "region", replace(attempt, resource=attempt.resource.replace(REGION, "us-east-1"))
    yield "index", replace(attempt, resource=f"{head}{table}/index/other")
    for action in FOREIGN_ACTIONS:
        yield "action", replace(attempt, action=f"dynamodb:{action}")
    keys = attempt.context.get(KEYS)
    if keys is not None:
        yield "key", _at(attempt, (FOREIGN_KEY,))
        yield "key", _at(attempt, tuple(f"x{key}" for key in keys))
        yield "one key of several", _at(attempt, (*keys, FOREIGN_KEY))
        yield "no key", replace(attempt, context=_without_keys(attempt.context))


def _at(attempt: Attempt, keys: tuple[str, ...]) -> Attempt:
    return replace(attempt, context={**attempt.context, KEYS: keys})


def _without_keys(context: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {name: values for name, values in context.items() if name != KEYS}


def _parts(resource: str) -> tuple[str, str, str]:
    head, slash, rest = resource.partition("table/")
    name, more, part = rest.partition("/")
    return head + slash, name, more + part
