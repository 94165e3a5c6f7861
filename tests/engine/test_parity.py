"""The two shells have the same verbs with the same parameters; only their colour differs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from singletable import AsyncDatabase, Database, connect, connect_async
from tools.blocking import ASYNC_SOURCE

COLOURED = {"__enter__": "__aenter__", "__exit__": "__aexit__"}
VERBS = sorted(n for n, v in vars(Database).items() if inspect.isfunction(v) and (n[0] != "_" or n in COLOURED))


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_takes_the_same_in_both(verb: str) -> None:
    if verb != "__init__":
        assert parameters(getattr(Database, verb)) == parameters(getattr(AsyncDatabase, COLOURED.get(verb, verb)))


def parameters(verb: Callable[..., Any]) -> list[inspect.Parameter]:
    """They are the same, but that an async iterator is read in an event loop alone."""
    given = inspect.signature(verb).parameters.values()
    return [each.replace(annotation=re.sub(ASYNC_SOURCE, "", str(each.annotation))) for each in given]


def test_neither_has_a_verb_that_the_other_lacks() -> None:
    theirs = {n for n, v in vars(AsyncDatabase).items() if inspect.isfunction(v) and n[0] != "_"}
    assert theirs == {COLOURED.get(verb, verb) for verb in VERBS if verb[0] != "_"}
    assert inspect.signature(connect).parameters == inspect.signature(connect_async).parameters
