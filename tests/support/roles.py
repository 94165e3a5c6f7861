"""Every request that an application makes in its suite is held to the role of the program that makes it.

A test fails whose application asks for what the deployed template does not allow: `examples/conftest.py` has the
fixture, `tests/support/programs.py` the programs. Which program asks is read off the stack: a worker of the library is
the worker's; else the outermost module of the application decides. What tests ask for themselves is nobody's, and so is
the set-up of a local table.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

import msgspec
import pytest

from singletable.wire.delivery import Delivery
from singletable_deploy import Deployment
from singletable_deploy.cloudformation import template
from tests.support.attempts import SQS, STREAMS, attempts_of, stream_arn
from tests.support.iam import Attempt, is_allowed, names_action
from tests.support.mutations import outside
from tests.support.templates import statements_of

ADMIN = "Admin"
"""The role that may do anything to the tables: nothing of the application's lies outside of it."""
_LOCAL_ONLY = ("/singletable/records/first_use.py", "/singletable_local/")
_WORKERS = ("/singletable/streams/", *(f"/singletable/tasks/{n}.py" for n in ("worker", "execution", "dispatch")))
_FUNCTIONS = ("/singletable/streams/lambda_handler.py", "/singletable/tasks/queue_worker.py")


@dataclass(frozen=True)
class Program:
    """Which role each module of an application runs under."""

    folder: str
    roles: Mapping[str, str | None]
    """By the module's file name; the logical name in the template. None where a test's own tables are used."""
    default: str
    worker: str = "Worker"
    function: str = "Worker"
    """Of what Lambda calls."""
    holds_keys: bool = True
    """Whether the keys' layout lets policies tell partitions apart."""

    def role(self, frame: FrameType | None) -> str | None:
        """The role of the program that makes a request; None for a test."""
        names = files_of(frame)
        if is_of_local_set_up(names):
            return None
        own = [name.rpartition("/")[2] for name in names if f"/{self.folder}/" in name]
        if _has(names, _FUNCTIONS) or "lambda_functions.py" in own:
            return self.function
        if _has(names, _WORKERS):
            return self.worker
        return self.roles.get(own[-1], self.default) if own else None


def files_of(frame: FrameType | None) -> list[str]:
    """The files of a frame and of those that called it, in this order."""
    names: list[str] = []
    while frame is not None:
        names.append(frame.f_code.co_filename)
        frame = frame.f_back
    return names


def is_of_local_set_up(names: list[str]) -> bool:
    """Whether a local table is set up at its first use, which no program on AWS does."""
    return _has(names, _LOCAL_ONLY)


def _has(names: list[str], parts: tuple[str, ...]) -> bool:
    return any(part in name for name in names for part in parts)


class Judge:
    """Says what a deployment allows. It judges each attempt once: the tests of a suite ask for the same many times."""

    def __init__(self, deployment: Deployment, *, holds_keys: bool) -> None:
        self._template = template(deployment)
        self._holds_keys = holds_keys
        self._statements: dict[str, list[dict[str, Any]]] = {}
        self._about: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._allowed: dict[Asked, bool] = {}
        self._outside: dict[Asked, tuple[int, list[tuple[str, Attempt]]]] = {}

    def statements(self, role: str) -> list[dict[str, Any]]:
        if role not in self._statements:
            self._statements[role] = statements_of(self._template, role)
        return self._statements[role]

    def allows(self, role: str, attempt: Attempt) -> bool:
        asked = _asked(role, attempt)
        if asked not in self._allowed:
            self._allowed[asked] = self._is_allowed(role, attempt)
        return self._allowed[asked]

    def outside(self, role: str, attempt: Attempt) -> tuple[int, list[tuple[str, Attempt]]]:
        """How many requests a step outside of this one were judged, and those of them that are allowed."""
        asked = _asked(role, attempt)
        if asked not in self._outside:
            judged = [o for o in outside(attempt) if role != ADMIN and (self._holds_keys or "key" not in o[0])]
            self._outside[asked] = len(judged), [o for o in judged if self._is_allowed(role, o[1])]
        return self._outside[asked]

    def _is_allowed(self, role: str, attempt: Attempt) -> bool:
        """By the statements about its action: the others of a role, most of them, are passed over at once."""
        about = role, attempt.action
        if about not in self._about:
            self._about[about] = [each for each in self.statements(role) if names_action(each, attempt.action)]
        return is_allowed(self._about[about], attempt)


Asked = tuple[str, str, str, tuple[tuple[str, tuple[str, ...]], ...]]


def _asked(role: str, attempt: Attempt) -> Asked:
    return role, attempt.action, attempt.resource, tuple(attempt.context.items())


@dataclass
class Recorded:
    """What was asked for, by role, and what of it is not allowed."""

    deployment: Deployment
    program: Program
    attempts: list[tuple[str, Attempt]] = field(default_factory=list["tuple[str, Attempt]"])
    refused: list[str] = field(default_factory=list[str])
    judge: Judge | None = None

    def __post_init__(self) -> None:
        self._judge = self.judge or Judge(self.deployment, holds_keys=self.program.holds_keys)
        self._tables = {t.name: t.definition for t in self.deployment.tables}

    def statements(self, role: str) -> list[dict[str, Any]]:
        return self._judge.statements(role)

    def take(self, prefix: str, operation: str, body: bytes, frame: FrameType | None) -> None:
        role = self.program.role(frame)
        if role is None:
            return
        for attempt in self._attempts(prefix, operation, msgspec.json.decode(body)):
            self.attempts.append((role, attempt))
            if not self._judge.allows(role, attempt):
                self.refused.append(f"{role} may not {attempt}")

    def escaped(self) -> tuple[int, list[tuple[str, str, Attempt]]]:
        """How many requests a step outside were judged, and those of them that are allowed: [] if policies hold."""
        judged, found = 0, list[tuple[str, str, Attempt]]()
        for (role, *_), attempt in {_asked(role, attempt): attempt for role, attempt in self.attempts}.items():
            count, allowed = self._judge.outside(role, attempt)
            judged += count
            found += [(role, what, other) for what, other in allowed]
        return judged, found

    def _attempts(self, prefix: str, operation: str, body: Any) -> list[Attempt]:
        if prefix == STREAMS:
            # A local stream's ARN is the engine's own, and an iterator's names no stream.
            (table,) = [t.name for t in self.deployment.tables if t.definition.stream is not None]
            return [Attempt(f"dynamodb:{operation}", stream_arn(table))]
        if prefix == SQS and len(self.deployment.all_queues) == 1:
            # A test's queue has a name of its own.
            body = {**body, "QueueUrl": f"http://localhost/1/{self.deployment.all_queues[0].stored_name}"}
        return attempts_of(prefix, operation, body, self._tables)


class Recorder(Protocol):
    """What each request is shown to before it is sent, with the frame that sends it."""

    def take(self, prefix: str, operation: str, body: bytes, frame: FrameType | None) -> None: ...


def recording(monkeypatch: pytest.MonkeyPatch, recorded: Recorder) -> None:
    """Record every request of this process from now on."""
    before = Delivery.deliver

    async def deliver(self: Delivery, exchange: Any, request: Any, *more: Any) -> Any:
        recorded.take(self._service.target_prefix, request.operation, request.body, sys._getframe(1))
        return await before(self, exchange, request, *more)

    monkeypatch.setattr(Delivery, "deliver", deliver)


def check_held(recorded: Recorded) -> None:
    """Fail the test, where what was recorded is not allowed, or a step outside of it is."""
    if recorded.refused:
        pytest.fail("; ".join(dict.fromkeys(recorded.refused)))
    if escaped := recorded.escaped()[1]:
        pytest.fail(f"{len(escaped)} requests outside of their roles are allowed: {escaped[0]}")
