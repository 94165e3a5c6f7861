"""Copies that are kept right by changes: renamed sources, new holders, late writers, and what is refused."""

from __future__ import annotations

import threading  # noqa: TID251
from datetime import datetime, timezone
from typing import Any

import pytest

from singletable import ANY, Database, Entity, Index, Key, Table, attr, field
from singletable.errors import DeclarationError
from singletable.migrations import Migrations
from singletable.schema import copy_of, model_of
from singletable.streams import Changes, ChangeWorker
from singletable.streams.copies import copy_updater
from tests.support.engines import fresh
from tests.support.raw import put_raw, stored
from tests.support.shells import Shell
from tests.support.workers import change_worker

PAST = datetime(2026, 1, 1, tzinfo=timezone.utc)
clubs = Table(
    "clubs", indexes={"gsi1": Index("gsi1pk", "gsi1sk"), "few": Index("fpk", "fsk", "keys")}, stream="new_and_old"
)


class Club(Entity, table=clubs, type="club"):
    club_id: str
    name: str
    motto: str | None = None
    revision: int = field(version=True, default=0)

    @clubs.key
    @staticmethod
    def by_id(club_id: str) -> Key:
        """One club."""
        return f"club#{club_id}", "club"


class Member(Entity, table=clubs, type="member"):
    """Beside its club, in the table's own partition; its list is by the club's name."""

    club_id: str
    email: str
    club_name: str = copy_of(Club.name, default="")
    motto: str | None = copy_of(Club.motto, default=None, name="m")

    @clubs.key
    @staticmethod
    def of_club(club_id: str, email: str = ANY) -> Key:
        """The members of a club."""
        return f"club#{club_id}", f"member#{email}"

    @clubs.index("gsi1")
    @staticmethod
    def of_user(email: str, club_name: str = ANY, club_id: str = ANY) -> Key:
        """The clubs of a user, alphabetically."""
        return f"user#{email}", f"{club_name}#{club_id}"


class Fan(Entity, table=clubs, type="fan"):
    """Found through an index."""

    email: str
    club_id: str
    club_name: str = copy_of(Club.name, default="?")

    @clubs.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One fan."""
        return f"fan#{email}", "fan"

    @clubs.index("gsi1")
    @staticmethod
    def of_club(club_id: str, email: str = ANY) -> Key:
        """The fans of a club."""
        return f"fans#{club_id}", f"{email}"

    @clubs.index("few")
    @staticmethod
    def in_part(club_id: str) -> Key:
        """The fans of a club, in part."""
        return f"fans#{club_id}", "fan"


@pytest.fixture
def changes() -> Changes:
    made = Changes(clubs)
    made.keep_copies(Member.of_club)
    made.keep_copies(Fan.of_club)
    return made


async def names(shell: Shell) -> dict[str, str]:
    members = await shell.all(Member.of_club("c1"))
    fans = await shell.all(Fan.of_club("c1"))
    return {m.email: m.club_name for m in members} | {f.email: f.club_name for f in fans}


async def test_a_renamed_source_reaches_all_who_repeat_it(shell: Shell, changes: Changes) -> None:
    club = Club(club_id="c1", name="Old")
    await shell.create(club)
    for number in range(5):
        await shell.create(Member(club_id="c1", email=f"m{number}", club_name="Old"))
        await shell.create(Fan(club_id="c1", email=f"f{number}", club_name="Old"))
    await shell.create(Member(club_id="c10", email="m0", club_name="Other"))
    await change_worker(shell, changes).drain()
    await shell.update(club, attr(Club.name).set("New"), attr(Club.motto).set("!"))
    await change_worker(shell, changes).drain()
    assert set((await names(shell)).values()) == {"New"}
    (listed,) = await shell.all(Member.of_user("m0", club_name="New"))
    assert (listed.club_id, listed.motto) == ("c1", "!")
    assert await shell.all(Member.of_user("m0", club_name="Old")) == []
    assert await change_worker(shell, changes).check() == []


@pytest.mark.parametrize("kind", ["blocking", "awaiting"])
@pytest.mark.parametrize("holder", [Member, Fan])
async def test_a_holder_that_cant_be_read_holds_up_no_other(shell: Shell, holder: Any, kind: str) -> None:
    """All others get their copies; the change becomes a dead letter, whose error names the holder."""
    changes, club = Changes(clubs), Club(club_id="c1", name="Old")
    changes.keep_copies(holder.of_club)
    await shell.create(club)
    for number in range(5):
        await shell.create(holder(club_id="c1", email=f"h{number}", club_name="Old"))
    await change_worker(shell, changes).drain()
    item = model_of(holder).item(holder(club_id="c1", email="h0", club_name="Old"))
    await put_raw(shell.port, holder, item | {"email": {"N": "1"}})
    await shell.update(club, attr(Club.name).set("New"))
    worker = change_worker(shell, changes)
    await worker.drain()
    found = await shell.all(holder.of_club("c1"), unreadable=lambda each: None)
    assert [each.club_name for each in found] == ["New"] * 4
    letters = [finding.type for finding in await worker.check() if finding.code == "change.dead-letter"]
    assert "club" in letters


async def test_a_new_holder_with_an_old_copy_is_put_right(shell: Shell, changes: Changes) -> None:
    await shell.create(Club(club_id="c1", name="New", motto="!"))
    await change_worker(shell, changes).drain()
    await shell.create(Member(club_id="c1", email="m1", club_name="Old"))
    await shell.create(Fan(club_id="c1", email="f1"))
    await change_worker(shell, changes).drain()
    assert await names(shell) == {"m1": "New", "f1": "New"}


async def test_a_copy_changed_by_hand_is_put_right(shell: Shell, changes: Changes) -> None:
    await shell.create(Club(club_id="c1", name="Right"))
    for email in ("m1", "m2"):
        await shell.create(Member(club_id="c1", email=email, club_name="Right"))
    await change_worker(shell, changes).drain()
    await shell.update(Member.of_club("c1", "m1"), attr(Member.club_name).set("Wrong"))
    await shell.put(Member(club_id="c1", email="m2", club_name="Wrong"))
    await change_worker(shell, changes).drain()
    assert await names(shell) == {"m1": "Right", "m2": "Right"}


async def test_a_late_writer_puts_nothing_old_over_a_newer_copy(shell: Shell, changes: Changes) -> None:
    club = Club(club_id="c1", name="First")
    await shell.create(club)
    await shell.create(Member(club_id="c1", email="m1", club_name="First"))
    await change_worker(shell, changes).drain()
    kept = copy_updater(clubs, Member.of_club)
    stale = await shell.get(Club.by_id("c1"))
    await shell.update(club, attr(Club.name).set("Second"))
    await change_worker(shell, changes).drain()
    await shell.run(kept.update(shell.port, Member.of_club("c1", "m1"), stale, is_another=False))
    await shell.run(kept._write_found(shell.port, stale, is_another=False))
    assert await names(shell) == {"m1": "Second"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["its source first", "its holder first"])
def test_the_changes_of_one_transaction_come_in_either_order(engine: Database, changes: Changes, order: Any) -> None:
    """A source gets another name, and in the same transaction somebody joins with the old one."""
    handle, id = ChangeWorker(engine, changes).lambda_handler(), f"either-{order[0]}"
    engine.create(Club(club_id=id, name="Old"))
    engine.create(Member(club_id=id, email="m1", club_name="Old"))
    keys: tuple[Any, ...] = (Club.by_id(id), Member.of_club(id, "m2"))
    before = [engine.run(stored(engine.port, key)) for key in keys]
    with engine.transaction() as tx:
        tx.update(Club.by_id(id), attr(Club.name).set("New"))
        tx.create(Member(club_id=id, email="m2", club_name="Old"))
    images = [(old, engine.run(stored(engine.port, key))) for old, key in zip(before, keys, strict=True)]
    for number in order:
        assert handle({"Records": [lambda_record(number + 1, *images[number])]}, None) == {"batchItemFailures": []}
    assert {m.email: m.club_name for m in engine.all(Member.of_club(id).consistent())} == {"m1": "New", "m2": "New"}


def lambda_record(number: int, old: Any, new: Any) -> dict[str, Any]:
    images = {"OldImage": old, "NewImage": new} if old else {"NewImage": new}
    data = {"Keys": {name: new[name] for name in ("pk", "sk")}, "SequenceNumber": str(number), **images}
    event = "MODIFY" if old else "INSERT"
    return {"eventName": event, "eventSource": "aws:dynamodb", "dynamodb": data}


async def test_a_source_that_is_made_anew_counts_from_one_again(shell: Shell, changes: Changes) -> None:
    club = Club(club_id="c1", name="First")
    await shell.create(club)
    await shell.create(Member(club_id="c1", email="m1"))
    for name in ("Second", "Third"):
        club = await shell.update(club, attr(Club.name).set(name))
    await change_worker(shell, changes).drain()
    await shell.delete(club)
    await shell.create(Club(club_id="c1", name="Again"))
    await change_worker(shell, changes).drain()
    assert await names(shell) == {"m1": "Again"}


@pytest.mark.parametrize("says_name", [True, False])
async def test_a_holder_that_names_another_source_has_its_copies(
    shell: Shell, changes: Changes, says_name: bool
) -> None:
    """The version that it has is of the source before, and higher than that of the source now."""
    club = Club(club_id="c1", name="First")
    await shell.create(club)
    await shell.create(Fan(club_id="c1", email="f1", club_name="First"))
    for name in ("Second", "Third"):
        club = await shell.update(club, attr(Club.name).set(name))
    other = Club(club_id="c2", name="Other")
    await shell.create(other)
    await change_worker(shell, changes).drain()
    also = (attr(Fan.club_name).set("Other"),) if says_name else ()
    await shell.update(Fan.by_email("f1"), attr(Fan.club_id).set("c2"), *also)
    await change_worker(shell, changes).drain()
    assert (await shell.all(Fan.of_club("c2")))[0].club_name == "Other"
    await shell.update(other, attr(Club.name).set("Renamed"))
    await change_worker(shell, changes).drain()
    assert (await shell.all(Fan.of_club("c2")))[0].club_name == "Renamed"
    kept = copy_updater(clubs, Fan.of_club)
    late = Club(club_id="c1", name="Late", revision=99)
    for is_another in (False, True):
        assert not await shell.run(kept.update(shell.port, Fan.by_email("f1"), late, is_another=is_another))


def test_a_holder_that_names_another_source_is_repaired(engine: Database, changes: Changes) -> None:
    club = Club(club_id="c1", name="First")
    engine.create(club)
    engine.create(Fan(club_id="c1", email="f1", club_name="First"))
    ChangeWorker(engine, changes).drain()
    engine.update(club, attr(Club.name).set("Second"))
    ChangeWorker(engine, changes).drain()
    engine.create(Club(club_id="c2", name="Other"))
    engine.update(Fan.by_email("f1"), attr(Fan.club_id).set("c2"))
    (finding,) = engine.check(clubs)
    assert finding.code == "copy.behind"
    assert [done.outcome for done in Migrations(engine, clubs).repair([finding])] == ["mended"]
    assert engine.check(clubs) == []


async def test_a_holder_without_a_source_is_left_alone(shell: Shell, changes: Changes) -> None:
    await shell.create(Member(club_id="c1", email="m1", club_name="Nowhere"))
    await change_worker(shell, changes).drain()
    assert await names(shell) == {"m1": "Nowhere"}


async def test_a_copy_that_is_right_is_given_its_version(shell: Shell, changes: Changes) -> None:
    """So that a late writer can't take it for an old one; a new version with the same values tells nobody."""
    club = Club(club_id="c1", name="Name")
    await shell.create(club)
    await shell.create(Member(club_id="c1", email="m1", club_name="Name"))
    await change_worker(shell, changes).drain()
    item = await stored(shell.port, Member.of_club("c1", "m1"))
    assert item is not None
    assert item["_copied_club"] == {"N": "1"}
    await shell.update(club, attr(Club.name).set("Name"))
    await change_worker(shell, changes).drain()
    assert await stored(shell.port, Member.of_club("c1", "m1")) == item


def rename_while_they_join(db: Database, members: int) -> None:
    """A club of many is renamed twice while others join with whichever name they saw."""
    changes = Changes(clubs)
    changes.keep_copies(Member.of_club)
    club = Club(club_id="big", name="name 0")
    db.create(club)
    first = [Member(club_id="big", email=f"m{n:05}", club_name="name 0") for n in range(members)]
    db.write_many(puts=first)
    db.update(Club.by_id("big"), attr(Club.name).set("name 1"))
    stop = threading.Event()

    def join() -> None:
        number = 0
        while not stop.is_set() and number < members:  # a drain ends when it has caught up with everybody
            seen = db.get(Club.by_id("big"))
            assert seen is not None
            db.create(Member(club_id="big", email=f"new{number:05}", club_name=seen.name))
            number += 1

    joining = threading.Thread(target=join)
    joining.start()
    half = threading.Timer(0.3, lambda: db.update(Club.by_id("big"), attr(Club.name).set("name 2")))
    half.start()
    ChangeWorker(db, changes).drain()
    half.join()
    db.update(Club.by_id("big"), attr(Club.name).set("name 3"))
    stop.set()
    joining.join()
    ChangeWorker(db, changes).drain()
    found = db.all(Member.of_club("big"), max_pages=10_000)
    assert len(found) > members
    assert {member.club_name for member in found} == {"name 3"}
    assert ChangeWorker(db, changes).check() == []
    assert db.check(clubs) == []


def test_a_hundred_copies_are_written_while_others_join() -> None:
    with fresh() as db:
        rename_while_they_join(db, 100)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_thousands_of_copies_are_written_while_others_join() -> None:
    with fresh() as db:
        rename_while_they_join(db, 4_000)


# --- what is refused --------------------------------------------------------------------------------------------------
def test_a_source_counts_its_writes() -> None:
    class Plain(Entity, table=clubs, type="plain"):
        plain_id: str
        name: str

        @clubs.key
        @staticmethod
        def by_id(plain_id: str) -> Key:
            return f"plain#{plain_id}", "plain"

    with pytest.raises(DeclarationError, match="Plain counts no writes"):

        class Copies(Entity, table=clubs, type="copies"):
            plain_id: str
            name: str = copy_of(Plain.name)

            @clubs.key
            @staticmethod
            def by_id(plain_id: str) -> Key:
                return f"copies#{plain_id}", "copies"


@pytest.mark.parametrize("wrong", ["name", 1, lambda: attr(Club.name)])
def test_a_copy_is_of_an_attribute(wrong: Any) -> None:
    with pytest.raises(DeclarationError, match=r"Organisation\.name"):
        copy_of(wrong)


def test_a_copy_is_of_its_sources_type() -> None:
    with pytest.raises(DeclarationError, match="not of the same type"):

        class Wrong(Entity, table=clubs, type="wrong"):
            club_id: str
            name: int = copy_of(Club.revision, default=0)
            motto: str = copy_of(Club.motto, default="")  # type: ignore[assignment]

            @clubs.key
            @staticmethod
            def by_id(club_id: str) -> Key:
                return f"wrong#{club_id}", "wrong"


def test_holders_and_sources_are_found_from_each_other() -> None:
    changes = Changes(clubs)
    wrong: list[tuple[Any, str]] = [
        (Member.of_user, "finds holders by email"),
        (Fan.in_part, "only a part of each item"),
        (Club.by_id, "Club copies nothing"),
        ("Member.of_club", "takes the access pattern"),
    ]
    for pattern, why in wrong:
        with pytest.raises(DeclarationError, match=why):
            changes.keep_copies(pattern)


class Guest(Entity, table=clubs, type="guest", version=2, stored_as=1):
    """Stored in the form of version 1 too, which has the copy under another name."""

    club_id: str
    email: str
    club_name: str = copy_of(Club.name, default="")

    @clubs.key
    @staticmethod
    def of_club(club_id: str, email: str = ANY) -> Key:
        """The guests of a club."""
        return f"guests#{club_id}", f"guest#{email}"


@Guest.upcast(1)
def renamed(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "club_name": values["club"]}


@Guest.downcast(2)
def named_before(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "club": values["club_name"]}


def test_a_holder_in_two_forms_is_refused_when_the_copies_are_declared() -> None:
    """Copies are written to many items at once, and a write of two forms needs what was read before."""
    with pytest.raises(DeclarationError, match=r"Guest has stored_as=1, .* can't keep both forms"):
        Changes(clubs, name="guests").keep_copies(Guest.of_club)
