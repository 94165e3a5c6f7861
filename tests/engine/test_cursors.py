"""Cursors: bound to their query and principal, and to nothing that may change between two pages."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import pytest

from singletable import InvalidCursor, Query, at_least, attr, before, connect, key_of
from singletable.errors import NotConfigured
from singletable.wire import Credentials, StaticCredentials
from tests.support.engines import again, fresh
from tests.support.models import EPOCH, Membership, Note, User, membership
from tests.support.shells import Shell

ADA = "ada@example.org"
EVERY = [membership(n) for n in range(20)]
QUERY = Membership.of_user(ADA)


@pytest.fixture
async def filled(shell: Shell) -> Shell:
    await shell.write_many(puts=EVERY)
    return shell


async def cursor_of(shell: Shell, query: Query[Membership] = QUERY, principal: str | None = None) -> str:
    cursor = (await shell.page(query, limit=5, principal=principal)).cursor
    assert cursor is not None
    return cursor


async def test_a_cursor_is_opaque(filled: Shell) -> None:
    cursor = await cursor_of(filled)
    assert "o0004" not in cursor
    assert cursor.isascii()
    assert cursor == cursor.strip("=")
    assert await cursor_of(filled) != cursor


@pytest.mark.parametrize(
    "foreign",
    [
        Membership.of_user("eve@example.org"),
        QUERY.newest_first(),
        Membership.of_org("o0001"),
        Note.of_user(ADA),
    ],
)
async def test_a_cursor_belongs_to_its_query(filled: Shell, foreign: Query[object]) -> None:
    with pytest.raises(InvalidCursor, match="first page"):
        await filled.page(foreign, after=await cursor_of(filled))


async def test_a_cursor_belongs_to_its_principal(filled: Shell) -> None:
    cursor = await cursor_of(filled, principal="u1")
    assert list(await filled.page(QUERY, after=cursor, principal="u1")) == EVERY[5:]
    for other in ("u2", None):
        with pytest.raises(InvalidCursor):
            await filled.page(QUERY, after=cursor, principal=other)


async def test_a_changed_cursor_is_refused(filled: Shell) -> None:
    cursor = await cursor_of(filled)
    changed = [cursor[:-1] + ("A" if cursor[-1] != "A" else "B"), cursor + "A", cursor[1:], "", "x", "é" * 40, "%" * 90]
    for wrong in changed:
        with pytest.raises(InvalidCursor):
            await filled.page(QUERY, after=wrong)


async def test_filter_projection_consistency_and_limit_may_change(filled: Shell) -> None:
    cursor = await cursor_of(filled)
    page = await filled.page(QUERY.where(attr(Membership.org_id) >= "o0018"), limit=3, after=cursor)
    assert list(page) == EVERY[18:]
    page = await filled.page(QUERY.consistent(), limit=3, after=cursor)
    assert list(page) == EVERY[5:8]
    part = await filled.page(QUERY.only(Membership.role), limit=2, after=cursor)
    assert [m.role for m in part] == ["member"] * 2


async def test_a_page_of_before_now_goes_on_with_a_later_now(filled: Shell) -> None:
    notes = [Note(email=ADA, written_at=EPOCH + timedelta(minutes=n)) for n in range(12)]
    await filled.write_many(puts=notes)
    first = await filled.page(Note.of_user(ADA, before(EPOCH + timedelta(minutes=9))), limit=5)
    later = before(EPOCH + timedelta(minutes=11))
    second = await filled.page(Note.of_user(ADA, later), limit=25, after=first.cursor)
    assert [*first, *second] == notes[:11]


async def test_newest_first_before_now_neither_repeats_nor_skips(filled: Shell) -> None:
    notes = [Note(email=ADA, written_at=EPOCH + timedelta(minutes=n)) for n in range(12)]
    await filled.write_many(puts=notes)
    first = await filled.page(Note.of_user(ADA, before(EPOCH + timedelta(minutes=9))).newest_first(), limit=4)
    later = Note.of_user(ADA, before(EPOCH + timedelta(minutes=11))).newest_first()
    second = await filled.page(later, limit=25, after=first.cursor)
    assert [*first, *second] == notes[8::-1]


async def test_a_cursor_outside_the_range_of_its_next_call(filled: Shell) -> None:
    cursor = await cursor_of(filled)  # stands on o0004
    assert list(await filled.page(Membership.of_user(ADA, at_least("o0010")), after=cursor)) == EVERY[10:]
    beyond = await filled.page(Membership.of_user(ADA, before("o0003")), after=cursor)
    assert (list(beyond), beyond.cursor) == ([], None)
    down = await cursor_of(filled, QUERY.newest_first())  # stands on o0015
    assert list(await filled.page(Membership.of_user(ADA, at_least("o0017")).newest_first(), after=down)) == []
    below = Membership.of_user(ADA, before("o0003")).newest_first()
    assert list(await filled.page(below, after=down)) == EVERY[2::-1]


async def test_the_item_under_the_cursor_may_be_deleted(filled: Shell) -> None:
    cursor = await cursor_of(filled)
    await filled.delete(key_of(EVERY[4]))
    assert list(await filled.page(QUERY, after=cursor)) == EVERY[5:]


async def test_a_cursor_of_a_filtered_page_goes_on_behind_what_was_returned(filled: Shell) -> None:
    query = QUERY.where(attr(Membership.org_id) != "o0001")
    first = await filled.page(query, limit=2)
    assert list(first) == [EVERY[0], EVERY[2]]
    assert list(await filled.page(query, limit=2, after=first.cursor)) == EVERY[3:5]


async def test_a_mixed_query_has_cursors_too(filled: Shell) -> None:
    ada = User(email=ADA)
    await filled.put(ada)
    mixed = User.by_email(ADA).also(Membership)
    first = await filled.page(mixed, limit=12)
    second = await filled.page(mixed, limit=12, after=first.cursor)
    assert [*first, *second] == [*EVERY, ada]


def test_without_a_key_a_cursor_says_what_to_set() -> None:
    with fresh() as engine:
        engine.write_many(puts=EVERY)
        known = StaticCredentials(Credentials("AKIDEXAMPLE", "secret"))
        with again(engine, credentials=known, cursor_keys=(), environ={}) as db:
            page = db.page(QUERY, limit=5)
            assert len(page) == 5
            with pytest.raises(NotConfigured, match="SINGLETABLE_CURSOR_KEYS"):
                _ = page.cursor


def test_keys_are_replaced_one_after_another() -> None:
    old, new = "an old key of the cursors", "a new key of the cursors"
    with fresh(cursor_keys=[old]) as first:
        first.write_many(puts=EVERY)
        cursor = first.page(QUERY, limit=5).cursor
        with again(first, cursor_keys=[new, old], environ={}) as both:
            page = both.page(QUERY, limit=5, after=cursor)
            assert list(page) == EVERY[5:10]
            with pytest.raises(InvalidCursor):
                first.page(QUERY, after=page.cursor)
        with again(first, cursor_keys=[new], environ={}) as only_new, pytest.raises(InvalidCursor):
            only_new.page(QUERY, after=cursor)


@pytest.mark.embedded("a key is kept beside the file")
def test_a_local_file_keeps_its_key(tmp_path: object) -> None:
    target = f"local:{tmp_path}/app.db"
    with connect(target) as db:
        db.write_many(puts=EVERY)
        cursor = db.page(QUERY, limit=5).cursor
    with connect(target) as again:
        assert list(again.page(QUERY, limit=5, after=cursor)) == EVERY[5:10]


_WITHOUT_CIPHER = """
import sys
sys.modules["nacl"] = sys.modules["nacl.secret"] = None
from singletable import connect
from singletable.errors import NotConfigured
from tests.support.models import Membership, membership

with connect("local") as db:
    db.write_many(puts=[membership(n) for n in range(3)])
    page = db.page(Membership.of_user("ada@example.org"), limit=2)
    assert len(page) == 2
    try:
        page.cursor
    except NotConfigured as error:
        print(error)
try:
    connect("http://127.0.0.1:1", cursor_keys=["0123456789abcdef"])
except NotConfigured as error:
    print(error)
"""


@pytest.mark.embedded("it runs in an interpreter of its own")
def test_what_is_missing_without_the_extra_is_named() -> None:
    """A page needs no cipher, its cursor does; where keys are given, that is said before the first page."""
    command = [sys.executable, "-c", _WITHOUT_CIPHER]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    install = "python -m pip install 'singletable[cursors]'"
    said = f"cursors are sealed by PyNaCl, which is not installed. Install it: {install}."
    assert ran.stdout.splitlines() == [said, said]
