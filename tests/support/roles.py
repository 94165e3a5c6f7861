"""Every request that an application makes in its suite is held to the role of the program that makes it.

    held = held_to_roles(deployment, "examples/organisations", {"worker.py": "Worker", "cli.py": "Admin"}, "Web")

in a `conftest.py` is a fixture for every test there: one fails whose application asks for what the deployed template
does not allow. Which program asks is read off the stack: a worker of the library is the worker's; else the outermost
module of the application decides. What tests ask for themselves is nobody's, and so is the set-up of a local table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest

from singletable.deploy import Deployment
from singletable.deploy.cloudformation import template
from singletable.wire.delivery import Delivery
from tests.support.attempts import STREAMS, attempts_of, stream_arn
from tests.support.iam import Attempt, is_allowed
from tests.support.templates import statements_of

_ROOT = str(Path(__file__).parents[2])
_LOCAL_ONLY = ("/singletable/records/first_use.py", "/singletable/local/")
_WORKERS = tuple(f"/singletable/tasks/{name}.py" for name in ("worker", "execution", "queue_worker", "dispatch"))
_HANDLERS = ("/singletable/streams/",)


@dataclass(frozen=True)
class Program:
    """Which role each module of an application runs under."""

    folder: str
    roles: Mapping[str, str]
    """By the module's file name; the logical name in the template."""
    default: str
    worker: str = "Worker"

    def role(self, frame: FrameType | None) -> str | None:
        """The role of the program that makes a request; None for a test."""
        outermost: str | None = None
        is_worker = False
        while frame is not None:
            name = frame.f_code.co_filename
            if any(part in name for part in _LOCAL_ONLY):
                return None
            is_worker = is_worker or any(part in name for part in (*_WORKERS, *_HANDLERS))
            if f"/{self.folder}/" in name:
                outermost = name.rpartition("/")[2]
            frame = frame.f_back
        if is_worker:
            return self.worker
        return None if outermost is None else self.roles.get(outermost, self.default)


@dataclass
class Recorded:
    """What was asked for, by role, and what of it is not allowed."""

    deployment: Deployment
    program: Program
    attempts: list[tuple[str, Attempt]] = field(default_factory=list["tuple[str, Attempt]"])
    refused: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        made = template(self.deployment)
        self._tables = {t.name: t.definition for t in self.deployment.tables}
        self._statements: dict[str, list[dict[str, Any]]] = {}
        self._made = made

    def statements(self, role: str) -> list[dict[str, Any]]:
        if role not in self._statements:
            self._statements[role] = statements_of(self._made, role)
        return self._statements[role]

    def take(self, prefix: str, operation: str, body: bytes, frame: FrameType | None) -> None:
        role = self.program.role(frame)
        if role is None:
            return
        for attempt in self._attempts(prefix, operation, msgspec.json.decode(body)):
            self.attempts.append((role, attempt))
            if not is_allowed(self.statements(role), attempt):
                self.refused.append(f"{role} may not {attempt}")

    def _attempts(self, prefix: str, operation: str, body: Any) -> list[Attempt]:
        if prefix == STREAMS:
            # A local stream's ARN is the engine's own, and an iterator's names no stream.
            (table,) = [t.name for t in self.deployment.tables if t.definition.stream is not None]
            return [Attempt(f"dynamodb:{operation}", stream_arn(table))]
        return attempts_of(prefix, operation, body, self._tables)


def recording(monkeypatch: pytest.MonkeyPatch, recorded: Recorded) -> None:
    """Record every request of this process from now on."""
    before = Delivery.deliver

    async def deliver(self: Delivery, exchange: Any, request: Any, round_trips: Any = None) -> Any:
        recorded.take(self._service.target_prefix, request.operation, request.body, sys._getframe(1))
        return await before(self, exchange, request, round_trips)

    monkeypatch.setattr(Delivery, "deliver", deliver)


def held_to_roles(deployment: Deployment, program: Program) -> Callable[..., Iterator[None]]:
    """The fixture of a suite."""

    @pytest.fixture(autouse=True)
    def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        recorded = Recorded(deployment, program)
        recording(monkeypatch, recorded)
        yield
        if recorded.refused:
            pytest.fail("; ".join(dict.fromkeys(recorded.refused)))

    return held
