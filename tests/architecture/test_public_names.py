"""How much a newcomer meets: the verbs of a database, and the names of the package."""

from __future__ import annotations

import inspect

import pytest

from singletable import AsyncDatabase, Database
from tools.site.public import passed_on

MOST_VERBS = 25
MOST_NAMES = 40


@pytest.mark.parametrize("kind", [Database, AsyncDatabase])
def test_a_database_has_few_verbs(kind: type) -> None:
    """A layer's verbs are those of a class that is bound to the database, as Graph(db) is."""
    verbs = [name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]
    assert len(verbs) <= MOST_VERBS, verbs


def test_the_package_exports_what_a_first_application_needs() -> None:
    """A layer's names come from its package, the other errors from singletable.errors."""
    assert len(passed_on("singletable")) <= MOST_NAMES
