"""A plan's reading that is killed at every request goes on from its file, and says what it would have said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from singletable import Database, InvalidRequest, Key, Table, field
from singletable.migrations import Migrations, Plan, PlanRefused
from tests.migrations.changing import order
from tests.migrations.watching import killed_at_every_request
from tests.support.engines import fresh


def by_mail(mail: str, number: int) -> Key:
    return f"mail#{mail}", f"{number}"


PLAIN: dict[str, Any] = {"number": int, "mail": str}


@pytest.fixture
def db(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A table of 30 orders, of which two have one mail, read five at a time and kept after each page."""
    monkeypatch.setattr("singletable.migrations.kept_counts._KEEP_SECONDS", -1.0)
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 5)
    table, kind = order(PLAIN)
    with fresh() as made:
        Migrations(made, table).apply()
        made.write_many(puts=[kind(number=n, mail=f"{n % 29}@example.org") for n in range(30)])
        traits = replace(made.port.traits, scan_page_limit=5, scans_by_key=False)
        monkeypatch.setattr(made.port, "traits", traits)
        yield made


def told(db: Database, table: Table, keep: Path | None) -> str | Plan:
    try:
        return Migrations(db, table).plan(keep=keep)
    except PlanRefused as error:
        return f"{error.what} {error.counted}"


CHANGES: dict[str, Any] = {
    "counted alone": order({"number": int, "mail": int}),
    "values that are twice": order({"number": int, "mail": (str, field(unique=True))}),
    "counted with a fill": order(PLAIN, patterns={"gsi1": by_mail}),
}


@pytest.mark.embedded("it reads page by page, and so many pages")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_killed_at_every_request_it_goes_on(
    db: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: Any
) -> None:
    table, _ = change
    path = tmp_path / "kept"
    whole = told(db, table, None)
    outcomes: list[str | Plan] = []
    with db.meter() as meter:
        kills = killed_at_every_request(db, monkeypatch, lambda _: outcomes.append(told(db, table, path)))
    assert outcomes == [whole]
    assert kills > 5
    assert not path.exists()
    pages = 32 // 5 + 1
    assert meter.by_operation["Scan"].requests < 3 * pages  # each page about twice: when it was killed, and again


@pytest.mark.embedded("it reads page by page")
def test_another_reading_begins_again(db: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "kept"
    kept = CHANGES["counted alone"][0]

    def unlink(_: Path, missing_ok: bool = False) -> None:
        raise OSError

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", unlink)
        with pytest.raises(OSError):
            Migrations(db, kept).plan(keep=path)
    assert path.stat().st_mode & 0o777 == 0o600
    other = CHANGES["values that are twice"][0]
    assert told(db, other, path) == told(db, other, None)
    path.write_text("{}")
    with pytest.raises(InvalidRequest, match="is not the file of a plan's reading"):
        Migrations(db, kept).plan(keep=path)
