"""Web applications whose routes are made once for all tests: that takes longer than most tests' requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from fastapi import FastAPI

S = TypeVar("S")


class Served(Generic[S]):
    """An application that answers for one test's service after the other's."""

    def __init__(self, create: Callable[[S], FastAPI], state: str = "service") -> None:
        self._create, self._state = create, state
        self._made: FastAPI | None = None
        self._users = 0

    @contextmanager
    def by(self, service: S) -> Iterator[FastAPI]:
        """The application, over a service. No request to another service may be under way."""
        if self._made is None:
            self._made = self._create(service)
        state = self._made.state
        assert self._users == 0 or getattr(state, self._state) == service, "requests to two services at once"
        setattr(state, self._state, service)
        self._users += 1
        try:
            yield self._made
        finally:
            self._users -= 1
