"""An object of a foreign table that was read leaves its item's bytes, by whichever verb it is written."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated, Any

from singletable import ANY, Entity, Key, Table, attr
from singletable.records.upgrade import changes_to
from singletable.schema import model_of
from singletable.studio.edits import WHY_UNDECLARED, fields_of
from singletable.values import in_declared_forms, json_text, undeclared_in
from tests.support.raw import put_raw, stored
from tests.support.shells import Shell

rota = Table("rota", indexes=["gsi1"], foreign=True)


class Shift(Entity, table=rota, type="shift"):
    user: str
    day: str
    begins: datetime
    meta: Annotated[dict[str, Any], json_text]
    note: str | None = None
    breaks: int = 0
    state: str = "open"

    @rota.key
    @staticmethod
    def of(user: str, day: str = ANY) -> Key:
        return f"SHIFT#{user:raw}", f"{day:raw}"

    @rota.index("gsi1")
    @staticmethod
    def by_state(state: str, day: str = ANY) -> Key:
        return f"STATE#{state:raw}", f"{day:raw}"


def text(value: str) -> dict[str, str]:
    return {"S": value}


def item(day: str) -> dict[str, Any]:
    """A shift in the forms of another program: a time with an offset, JSON with spaces, a NULL, no breaks."""
    keys = {"pk": text("SHIFT#ada"), "sk": text(day), "gsi1pk": text("STATE#open"), "gsi1sk": text(day)}
    own = {"user": text("ada"), "day": text(day), "begins": text("2026-01-31T09:30:00+01:00"), "state": text("open")}
    return {**keys, **own, "meta": text('{ "price": 1.50 }'), "note": {"NULL": True}, "other": text("x")}


async def read(shell: Shell, day: str) -> Shift:
    await put_raw(shell.port, Shift, item(day))
    shift = await shell.get(Shift.of("ada", day))
    assert shift is not None
    assert (shift.begins, shift.note, shift.breaks) == (datetime(2026, 1, 31, 8, 30, tzinfo=timezone.utc), None, 0)
    return shift


async def test_a_write_of_what_was_read_changes_no_byte(shell: Shell) -> None:
    first, second = await read(shell, "1"), await read(shell, "2")
    for write in (shell.put, shell.upsert):
        await write(first)
        assert await stored(shell.port, Shift.of("ada", "1")) == item("1")
    await shell.write_many(puts=await shell.all(Shift.of("ada")))
    assert await stored(shell.port, Shift.of("ada", "2")) == item("2")
    async with shell.transaction() as tx:
        tx.put(second)
    assert await stored(shell.port, Shift.of("ada", "2")) == item("2")
    gone = await shell.delete(second)
    assert gone is not None
    assert [*undeclared_in(gone)] == ["other"]
    await shell.create(gone)
    assert await stored(shell.port, Shift.of("ada", "2")) == item("2")
    (again,) = [shift async for shift in shell.iter(Shift.by_state("open")) if shift.day == "1"]
    await shell.put(again)
    assert await stored(shell.port, Shift.of("ada", "1")) == item("1")
    assert await shell.check(rota) == []


async def test_what_is_changed_is_written_in_its_form_and_nothing_else(shell: Shell) -> None:
    shift = await read(shell, "1")
    shift.breaks = 2
    shift.meta["price"] = 2.5
    await shell.put(shift)
    changed = item("1") | {"breaks": {"N": "2"}, "meta": text('{"price":2.5}')}
    assert await stored(shell.port, Shift.of("ada", "1")) == changed
    moved = await shell.update(Shift.of("ada", "1"), attr(Shift.begins).set(datetime(2026, 2, 1, tzinfo=timezone.utc)))
    begins = {"begins": text("2026-02-01T00:00:00.000000Z")}
    assert await stored(shell.port, Shift.of("ada", "1")) == changed | begins
    moved.note = "x"
    await shell.put(moved)
    assert await stored(shell.port, Shift.of("ada", "1")) == changed | begins | {"note": text("x")}


def test_a_fill_brings_an_item_into_the_forms_of_its_class() -> None:
    """A NULL stays, as what is undeclared does. The studio's form shows all, to be edited."""
    model, wire = model_of(Shift), item("1")
    changes = {change.name: change.value for change in changes_to(model, wire, 1, model.load(wire))}
    meta = text('{"price":1.5}')
    begins = text("2026-01-31T08:30:00.000000Z")
    assert changes == {"meta": meta, "begins": begins, "breaks": {"N": "0"}}
    shift = model.load(wire)
    assert shift is not None
    assert {
        field.name for field in fields_of(model, shift, covered=False) if field.why_fixed == WHY_UNDECLARED
    } == set()
    assert undeclared_in(in_declared_forms(shift)) == {"other": text("x")}


async def test_a_key_of_an_index_is_made_of_what_the_object_has(shell: Shell) -> None:
    """A state that the item lacks is the default: `check` names the key that is missing, and put makes it."""
    keyless = {name: value for name, value in item("1").items() if name not in ("state", "gsi1pk", "gsi1sk")}
    await put_raw(shell.port, Shift, keyless)
    assert [finding.code for finding in await shell.check(rota)] == ["index-key.stale"] * 2
    shift = await shell.get(Shift.of("ada", "1"))
    assert shift is not None
    await shell.put(shift)
    with_key = {"gsi1pk": text("STATE#open"), "gsi1sk": text("1")}
    assert await stored(shell.port, Shift.of("ada", "1")) == keyless | with_key
    assert await shell.check(rota) == []
