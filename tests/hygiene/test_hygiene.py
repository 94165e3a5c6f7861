"""Logs, errors and reprs never show an item's values, a cursor, a token or a credential."""

from __future__ import annotations

import logging
import re
import traceback
import warnings
from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest

from singletable import attr
from singletable.errors import Conflict, InvalidCursor, InvalidValue, Mistake, SingletableError
from singletable.operations.answers import RefusedWrite
from singletable.operations.transact import ReasonedCancellation
from singletable.records.first_use import ready
from singletable.schema.models import model_of
from singletable.wire import RetryPolicy, StaticCredentials
from tests.faults import opening
from tests.faults.clock import Clock
from tests.faults.opening import findings, make
from tests.faults.port import make_faulty
from tests.faults.rules import Faults
from tests.hygiene.canaries import (
    CREDENTIALS,
    CURSOR_KEY,
    ID,
    RATIO,
    TEXT,
    TOKEN,
    Entry,
    Secret,
    secret,
    seen_in,
    strict,
    vault,
)
from tests.hygiene.provocations import EVERY, KEY, Stage, every_class
from tests.support.shells import KINDS

FAMILIES = {"error", "mistake", "conflict"}
"""Classes that only group others, and are never raised themselves."""
_NUMBERS = count()
"""Of tokens: an engine remembers those of the tests that it had before."""


@pytest.fixture
async def stage(kind: str, engine_url: str, faults: Faults, clock: Clock) -> AsyncIterator[Stage]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(opening, "MADE_UP", StaticCredentials(CREDENTIALS))
        shell = make(kind, engine_url, clock, RetryPolicy(attempts=3), opening.PATIENT, 0, (CURSOR_KEY,))
    shell.port.token = lambda: f"{TOKEN}-{next(_NUMBERS)}"
    for table in (vault, strict):
        await shell.run(ready(shell.port, table))
    await shell.create(secret())
    await shell.write_many(puts=[Entry(book=ID, name=f"{TEXT}-{n}") for n in range(3)])
    make_faulty(shell.port, faults)
    yield Stage(shell, faults, engine_url)
    await shell.close()


def told_by(error: BaseException) -> Iterator[tuple[str, str]]:
    """Everything that an error shows when it is printed, logged or shown by a debugger's repr."""
    yield "str", str(error)
    yield "repr", repr(error)
    yield "args", repr(error.args)
    yield "notes", repr(getattr(error, "__notes__", ()))
    yield "traceback", "".join(traceback.format_exception(error))
    for name in ("what", "hint", "table", "attribute", "operation"):
        yield name, str(getattr(error, name, ""))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EVERY)
async def test_an_error_shows_no_value(
    name: str, kind: str, stage: Stage, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    code, provoke = EVERY[name]
    caplog.set_level(logging.DEBUG)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(SingletableError) as caught:
            await provoke(stage)
    error = caught.value
    assert error.code == code
    if not isinstance(error, Mistake):  # one may be raised before there is a database to ask
        assert all((error.table, error.operation, error.region, error.endpoint))
        assert error.key is None or error.key_hash in str(error)
    shown = [*told_by(error), *_failures(error)]
    shown += [("log", f"{r.getMessage()} {r.args} {r.exc_text}") for r in caplog.records]
    shown += [("warning", str(each.message)) for each in warned]
    shown += [("output", text) for text in capfd.readouterr()]
    leaks = {(where, hidden) for where, text in shown for hidden in seen_in(text)}
    assert not leaks
    assert not (isinstance(error, FOR_CLIENTS) and INNER_NAMES.findall(error.what))


FOR_CLIENTS = (Conflict, InvalidValue, InvalidCursor)
"""The errors whose `what` an application may put into its answer: docs/how-to/fastapi.md."""
INNER_NAMES = re.compile(r"Secret|Entry|First|Second|vault|strict|[{}/]|by_id|in_book|unique ==")
"""Classes, tables, patterns and templates of the program."""


def _failures(error: BaseException) -> Iterator[tuple[str, str]]:
    for failure in getattr(error, "failures", ()):
        yield "failure", str(failure)
        yield from told_by(failure.error)


async def test_what_is_no_entity_shows_no_value(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """The database, its parts, what it measures, what it finds and explains."""
    caplog.set_level(logging.DEBUG)
    shell = stage.shell
    with shell.meter() as meter:
        page = await shell.page(Entry.in_book(ID), limit=1)
        cursor = page.cursor
        await shell.update(KEY, attr(Secret.ratio).set(RATIO))
    assert cursor is not None
    shown = {
        "database": repr(getattr(shell, "db", shell)),
        "port": repr(shell.port),
        "target": repr(shell.target.seal) + repr(shell.target.credentials),
        "credentials": repr(CREDENTIALS).replace(CREDENTIALS.access_key, "")
        + str(CREDENTIALS).replace(CREDENTIALS.access_key, ""),
        "meter": f"{meter!r} {meter}",
        "position": repr(page.position),
        "cursor": cursor,
        "finding": " ".join(map(str, await findings(shell, vault))),
        "log": caplog.text,
    }
    leaks = {(where, hidden) for where, text in shown.items() for hidden in seen_in(text)}
    assert not leaks


_LAYERS = ("documents", "graph", "jobs", "migrations", "streams", "sync", "tasks")
ABOVE = tuple(f"singletable.{layer}" for layer in _LAYERS)
"""Layers whose own suites provoke their errors."""


def test_every_error_is_provoked() -> None:
    inner = {RefusedWrite, ReasonedCancellation}  # never leave the library: records turns them into what they mean
    codes = {kind.code for kind in every_class() - inner if not kind.__module__.startswith(ABOVE)}
    assert codes - FAMILIES == {code for code, _ in EVERY.values()}


def test_the_canaries_are_in_every_type() -> None:
    """The suite looks for what it planted: each attribute's stored form, and a key's, would be found."""
    item = model_of(Secret).item(secret(revision=1))
    for name, value in item.items():
        if name not in ("_type", "_v", "sk", "revision"):
            assert any(seen_in(repr(value))), name
    assert any(seen_in(repr(secret())))
