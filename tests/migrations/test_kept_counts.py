"""A plan's reading that is killed at every request goes on from its file, and says what it would have said.

One that has ended is not repeated by an apply, unless something that it counted may be otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from singletable import Database, InvalidRequest, Key, Table, field
from singletable.errors import NotConfigured, Throttled
from singletable.migrations import ApplyRefused, Estimate, Migrations, Plan, PlanReading, PlanRefused
from singletable.operations import RAW, GetItem, PutItem, RawCondition, TableCall
from singletable.tables import describe
from tests.migrations.changing import order
from tests.migrations.watching import before_each, killed_at_every_request
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
    pages = 32 // 5 + 1
    assert meter.by_operation["Scan"].requests < 3 * pages  # each page about twice: when it was killed, and again


@pytest.mark.embedded("it reads page by page")
def test_another_reading_begins_again(db: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "kept"
    kept = CHANGES["counted alone"][0]
    with monkeypatch.context() as patched:
        patched.setattr("os.replace", _refuse)
        with pytest.raises(NotConfigured, match=f"{re.escape(str(path))}.*another file"):
            Migrations(db, kept).plan(keep=path)
    assert not path.exists()
    told(db, kept, path)
    assert path.stat().st_mode & 0o777 == 0o600
    other = CHANGES["values that are twice"][0]
    assert told(db, other, path) == told(db, other, None)
    path.write_text("{}")
    with pytest.raises(InvalidRequest, match="is not the file of a plan's reading"):
        Migrations(db, kept).plan(keep=path)
    monkeypatch.setattr(Path, "read_bytes", _refuse)  # as root, a test can't make a file that it may not read
    with pytest.raises(NotConfigured, match=f"can't be read: {re.escape(str(path))}"):
        Migrations(db, kept).plan(keep=path)


def _refuse(*_: object) -> None:
    raise OSError


# --- a reading that has ended -----------------------------------------------------------------------------------------
FILLED = CHANGES["counted with a fill"]


def scans(db: Database, run: Callable[[], object]) -> int:
    with db.meter() as meter:
        run()
    return meter.by_operation["Scan"].requests if "Scan" in meter.by_operation else 0


def test_an_apply_takes_the_counts_of_a_plan(db: Database, tmp_path: Path) -> None:
    table, _ = FILLED
    begun: list[Estimate] = []
    first = Migrations(db, table).plan(keep=tmp_path, begins=begun.append)
    assert (len(begun), first.counted_at) == (1, None)
    with db.meter() as meter:
        second = Migrations(db, table).plan(keep=tmp_path, begins=begun.append)
    assert "Scan" not in meter.by_operation
    assert meter.read_units <= 1  # the record
    assert len(begun) == 1
    assert second.counted_at is not None
    assert replace(second, counted_at=None) == first
    outcome = Migrations(db, table).apply(second)
    assert [done.write_units for done in outcome.done] == [step.takes.write_units for step in first.steps]


def test_a_purge_is_counted_once_too(db: Database, tmp_path: Path) -> None:
    Migrations(db, FILLED[0]).apply()
    bare = order(PLAIN, indexes=("gsi2",))[0]
    purge: Any = {"purge": ["gsi1"], "keep": tmp_path}
    first = Migrations(db, bare).plan(**purge)
    assert "purge" in [step.kind for step in first.steps]
    assert scans(db, lambda: Migrations(db, bare).plan(**purge)) == 0
    second = Migrations(db, bare).plan(**purge)
    assert second.counted_at is not None
    assert replace(second, counted_at=None) == first


class Later:
    """What makes the counts of a plan void."""

    @staticmethod
    def asked_again(db: Database, keep: Path) -> object:
        return Migrations(db, FILLED[0]).plan(keep=keep, again=True)

    @staticmethod
    def another_record(db: Database, keep: Path) -> object:
        Migrations(db, order(PLAIN, patterns={"gsi2": by_mail})[0]).apply()
        return Migrations(db, FILLED[0]).plan(keep=keep)

    @staticmethod
    def a_record_of_the_same_model_that_was_brought_there_later(db: Database, keep: Path) -> object:
        Migrations(db, FILLED[0]).apply()
        Migrations(db, order(PLAIN)[0]).apply()
        return Migrations(db, FILLED[0]).plan(keep=keep)

    @staticmethod
    def another_declaration(db: Database, keep: Path) -> object:
        return Migrations(db, order(PLAIN, patterns={"gsi1": by_mail, "gsi2": by_mail})[0]).plan(keep=keep)

    @staticmethod
    def other_options(db: Database, keep: Path) -> object:
        return Migrations(db, FILLED[0]).plan(keep=keep, segments=2)

    @staticmethod
    def another_table_of_the_name(db: Database, keep: Path) -> object:
        plain, kind = order(PLAIN)
        db.delete_table(plain)
        db.create_table(plain)
        db.create(kind(number=1, mail="a@example.org"))
        return Migrations(db, FILLED[0]).plan(keep=keep)


@pytest.mark.parametrize("later", [n for n in vars(Later) if not n.startswith("_")])
def test_the_counts_are_taken_for_the_same_alone(db: Database, tmp_path: Path, later: str) -> None:
    path = tmp_path / "kept"
    Migrations(db, FILLED[0]).plan(keep=path)
    outcomes: list[Any] = []
    # The apply of another record scans too: the plan's own reading is what `counted_at` denies.
    assert scans(db, lambda: outcomes.append(getattr(Later, later)(db, path))) > 0
    assert outcomes[0].counted_at is None


def test_the_counts_of_a_table_are_not_those_of_the_next_one_of_its_name(db: Database, tmp_path: Path) -> None:
    """Neither has a record."""
    plain, kind = order(PLAIN)
    plans: list[Plan] = []
    for _ in range(2):
        db.delete_table(plain)
        db.create_table(plain)
        db.create(kind(number=1, mail="a@example.org"))
        plans.append(Migrations(db, FILLED[0]).plan(keep=tmp_path / "kept"))
    assert [plan.counted_at for plan in plans] == [None, None]


@pytest.mark.parametrize(
    ("seconds", "is_taken"), [(24 * 3600 - 1, True), (24 * 3600, False), (-60, True), (-61, False)]
)
def test_the_counts_are_taken_for_a_day(
    db: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds: float, is_taken: bool
) -> None:
    at = 1_800_000_000.0
    monkeypatch.setattr(db.port, "now", lambda: at)
    Migrations(db, FILLED[0]).plan(keep=tmp_path)
    monkeypatch.setattr(db.port, "now", lambda: at + seconds)
    assert (Migrations(db, FILLED[0]).plan(keep=tmp_path).counted_at is not None) is is_taken


@pytest.mark.embedded("it reads page by page")
@pytest.mark.parametrize(("seconds", "pages"), [(24 * 3600 - 1, 4), (24 * 3600, 7)])
def test_a_reading_that_was_killed_goes_on_for_a_day(
    db: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds: float, pages: int
) -> None:
    table, at, asked = FILLED[0], 1_800_000_000.0, [0]

    def killed(operation: Any) -> None:
        asked[0] += "Scan" in type(operation).__name__ or "Metered" in type(operation).__name__
        if asked[0] > 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(db.port, "now", lambda: at)
    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        before_each(db, patched, killed)
        Migrations(db, table).plan(keep=tmp_path)
    monkeypatch.setattr(db.port, "now", lambda: at + seconds)
    assert scans(db, lambda: Migrations(db, table).plan(keep=tmp_path)) == pages


def test_what_was_refused_is_counted_again(db: Database, tmp_path: Path) -> None:
    """It may be mended by now."""
    table, _ = CHANGES["values that are twice"]
    with pytest.raises(PlanRefused):
        Migrations(db, table).plan(keep=tmp_path)
    db.delete(order(PLAIN)[1].by_key(29))
    assert Migrations(db, table).plan(keep=tmp_path).counted_at is None


# --- what comes after the plan ----------------------------------------------------------------------------------------
@pytest.fixture
def young(tmp_path: Path) -> Iterator[tuple[Database, Any, Path]]:
    """A table with one order, the class of its old programs, and a directory for counts."""
    table, kind = order(PLAIN)
    with fresh() as db:
        Migrations(db, table).apply()
        db.create(kind(number=1, mail="1"))
        yield db, kind, tmp_path


def test_items_of_an_old_program_are_filled_though_there_were_none(young: tuple[Database, Any, Path]) -> None:
    db, old, keep = young
    migrations = Migrations(db, FILLED[0])
    db.delete(old.by_key(1))
    assert [step.kind for step in migrations.plan(keep=keep).steps] == ["record"]
    db.create(old(number=2, mail="2"))
    late = migrations.plan(keep=keep)
    assert late.counted_at is not None
    assert [step.kind for step in late.steps] == ["fill", "record"]
    migrations.apply(late)
    assert [*db.check(FILLED[0])] == []


def test_remains_are_purged_though_there_were_none(young: tuple[Database, Any, Path]) -> None:
    db, old, keep = young
    bare = Migrations(db, order(PLAIN, indexes=("gsi2",))[0])
    filled = order(PLAIN, indexes=("gsi1", "gsi2"), patterns={"gsi1": by_mail})
    Migrations(db, filled[0]).apply()
    db.delete(old.by_key(1))
    assert "purge" not in [step.kind for step in bare.plan(keep=keep, purge=["gsi1"]).steps]
    db.create(filled[1](number=2, mail="2"))
    late = bare.plan(keep=keep, purge=["gsi1"])
    assert late.counted_at is not None
    outcome = bare.apply(late)
    assert [done.step.takes.items for done in outcome.done if done.step.kind == "purge"] == [0]
    item = db.run(db.port.send(GetItem("shop", {"pk": {"S": "order#a2"}, "sk": {"S": "order"}}, RAW)))
    assert item is not None
    assert "gsi1pk" not in item


def test_an_item_that_became_unreadable_refuses_the_apply(young: tuple[Database, Any, Path]) -> None:
    """Nothing else of such an apply looks at the items."""
    db, old, keep = young
    changed = Migrations(db, CHANGES["counted alone"][0])
    db.delete(old.by_key(1))
    changed.plan(keep=keep)
    db.create(old(number=2, mail="2"))
    with pytest.raises(PlanRefused):
        changed.plan(keep=keep)


def test_an_item_that_became_unreadable_beside_a_fill_refuses_it(young: tuple[Database, Any, Path]) -> None:
    db, old, keep = young
    changed = Migrations(db, order({"number": int, "mail": int}, patterns={"gsi1": by_mail})[0])
    db.delete(old.by_key(1))
    changed.plan(keep=keep)
    db.create(old(number=2, mail="2"))
    with pytest.raises(PlanRefused):
        changed.plan(keep=keep)


def test_what_a_fill_meets_is_told_by_it(young: tuple[Database, Any, Path]) -> None:
    db, old, keep = young
    migrations = Migrations(db, FILLED[0])
    migrations.plan(keep=keep)
    db.create(old(number=2, mail="x" * 3000))
    late = migrations.plan(keep=keep)
    assert late.counted_at is not None
    assert [finding.code for finding in migrations.apply(late).unreadable] == ["item.unreadable"]
    unique = Migrations(db, CHANGES["values that are twice"][0])
    db.delete(old.by_key(2))
    unique.plan(keep=keep)
    db.create(old(number=3, mail="1"))
    late = unique.plan(keep=keep)
    assert late.counted_at is not None
    with pytest.raises(ApplyRefused, match="unique value"):
        unique.apply(late)


def test_an_unreadable_item_of_another_class_is_looked_at_again(young: tuple[Database, Any, Path]) -> None:
    """It may be mended by now, as what is counted."""
    db, _, keep = young
    migrations = Migrations(db, FILLED[0])
    broken: Any = {"pk": {"S": "order#a9"}, "sk": {"S": "order"}, "_type": {"S": "order"}, "_v": {"S": "?"}}
    db.run(db.port.send(PutItem("shop", broken, RawCondition())))
    accept = [("unreadable", "Order"), ("pattern.changed", "Order")]
    assert migrations.plan(keep=keep, accept=accept).left
    assert migrations.plan(keep=keep, accept=accept).counted_at is None


# --- patience ---------------------------------------------------------------------------------------------------------
@pytest.mark.embedded("it reads page by page, and so many pages")
@pytest.mark.parametrize("change", ["counted alone", "counted with a fill"])
def test_a_reading_waits_for_a_table_that_throttles_and_says_so(
    db: Database, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Each request of the reading is refused twice."""
    table, _ = CHANGES[change]
    whole, refused, slept = told(db, table, None), dict[int, int](), list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    readings: list[PlanReading] = []
    with monkeypatch.context() as patched:
        patched.setattr(db.port, "sleep", sleep)
        number = 0

        def throttle(operation: Any) -> None:
            nonlocal number
            if not isinstance(operation, TableCall | GetItem) and refused.get(number, 0) < 2:
                refused[number] = refused.get(number, 0) + 1
                raise Throttled("the table refuses", table="order")
            number += 1

        before_each(db, patched, throttle)
        try:
            again: object = Migrations(db, table).plan(progress=readings.append)
        except PlanRefused as error:
            again = f"{error.what} {error.counted}"
    assert again == whole
    assert len(slept) > 10
    assert [each.waits for each in readings if each.waits] == slept
    assert readings[-1].items >= 30


def test_a_reading_does_not_wait_for_ever(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    def throttle(operation: Any) -> None:
        if not isinstance(operation, TableCall | GetItem):
            raise Throttled("the table refuses", table="order")

    monkeypatch.setattr(db.port, "sleep", sleep)
    before_each(db, monkeypatch, throttle)
    with pytest.raises(Throttled):
        Migrations(db, FILLED[0]).plan()
    assert 10 < len(slept) < 30
    assert max(slept) <= 30


# --- what it says before ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("table", "options", "requests", "items"),
    [
        (FILLED[0], {}, 4 + 1, 350),  # a hundred items a page
        (CHANGES["counted alone"][0], {}, 3 + 1, 350),  # a page of a MB
        (FILLED[0], {"segments": 4}, 4 + 4, 350),
        (order(PLAIN, indexes=("gsi2",), patterns={"gsi2": by_mail})[0], {"purge": ["gsi1"]}, 2 * (4 + 1), 700),
    ],
    ids=["fill", "count", "segments", "purge"],
)
def test_what_is_read_is_said_before(
    db: Database, monkeypatch: pytest.MonkeyPatch, table: Table, options: Any, requests: int, items: int
) -> None:
    """By the size that the service tells."""
    if options.get("purge"):
        Migrations(db, FILLED[0]).apply()

    async def described(port: Any, definition: Any) -> Any:
        there = await describe(port, definition)
        return there and replace(there, items=350, bytes=3 * 2**20)

    monkeypatch.setattr("singletable.migrations.preparation.describe", described)
    begun: list[Estimate] = []
    with suppress(PlanRefused):
        Migrations(db, table).plan(begins=begun.append, **options)
    readings = items // 350
    assert begun == [Estimate(items, requests, readings * 3 * 256)]


def test_nothing_is_said_where_nothing_is_read(db: Database) -> None:
    begun: list[Estimate] = []
    with db.meter() as meter:
        assert Migrations(db, order(PLAIN)[0]).plan(begins=begun.append).is_empty
    assert begun == []
    assert "Scan" not in meter.by_operation
