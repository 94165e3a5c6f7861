"""Faults, planted by raw writes: past the library's classes and their conditions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner

import singletable.documents.check
import singletable.graph.check
import singletable.jobs.check
import singletable.records.check
import singletable.records.findings
import singletable.streams.check
import singletable.sync.check
import singletable.tasks.check
from singletable.cli.app import app
from singletable.foundation import BlockingDatabase, Finding
from singletable.operations import DeleteItem, RawCondition
from singletable.operations.answers import RAW
from singletable.schema import KeyOf
from tests.support.engines import engine
from tests.support.raw import put_raw, stored

CHECKERS = (
    singletable.documents.check,
    singletable.graph.check,
    singletable.jobs.check,
    singletable.records.check,
    singletable.streams.check,
    singletable.sync.check,
    singletable.tasks.check,
)


def edit(db: BlockingDatabase, key: KeyOf[Any], **attributes: Any) -> None:
    """Write stored attributes of an item; None removes one."""
    item = db.run(stored(db.port, key))
    assert item is not None
    put(db, key.kinds[0], {name: value for name, value in {**item, **attributes}.items() if value is not None})


def put(db: BlockingDatabase, kind: type[Any], item: dict[str, Any]) -> None:
    """Write an item as it is."""
    db.run(put_raw(db.port, kind, item))


def delete(db: BlockingDatabase, key: KeyOf[Any]) -> None:
    model = key.model
    db.run(db.port.send(DeleteItem(model.table.name, model.key_item(key), RawCondition(), RAW)))


def codes(findings: Iterable[Any]) -> list[str]:
    """The kinds that a check has told, each as often as it has."""
    return sorted(finding.code for finding in findings if finding.code)


def assert_found(check: Callable[[], list[Finding]], wanted: list[str]) -> None:
    """A check tells these kinds and no other; and with any one of them made silent, this would fail."""
    found = check()
    assert codes(found) == wanted, [str(finding) for finding in found]
    for kind in dict.fromkeys(wanted):
        with silenced(kind):
            assert codes(check()) != wanted, f"{kind} is told by nothing that this check makes"


def assert_command_finds(db: Any, module: str, wanted: list[str], *options: str) -> None:
    """`singletable check MODULE` finds these kinds, among those of the items' own records; on the embedded engine."""
    if not engine().is_embedded:
        return
    arguments = ["check", module, "--db", db.target.endpoint.url, "--json", *options]
    ran = CliRunner().invoke(app, arguments)
    assert (ran.exit_code, ran.exception.__class__) == (1, SystemExit), ran.output
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert set(wanted) <= {line["code"] for line in lines}


@contextmanager
def silenced(kind: str) -> Iterator[None]:
    """No checker tells this kind."""

    def make(code: str, *rest: Any) -> Finding:
        return Finding("" if code == kind else code, *rest)

    with pytest.MonkeyPatch.context() as patch:
        for maker in (*CHECKERS, singletable.records.findings):
            patch.setattr(maker, "Finding", make, raising=False)
        yield
