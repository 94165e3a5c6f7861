"""iter, all and scan: every item once, over more than a page of the service."""

from __future__ import annotations

from dataclasses import replace

import pytest

from singletable import InvalidRequest, attr
from tests.support.models import EPOCH, Membership, Note, User, membership
from tests.support.shells import Shell

ADA = "ada@example.org"


async def notes_of_many_pages(shell: Shell) -> list[Note]:
    """Over 3 MB of notes in one partition."""
    first = Note(email=ADA, written_at=EPOCH, text="é" * 50_000)
    notes = [replace(first, written_at=EPOCH.replace(minute=n)) for n in range(35)]
    await shell.write_many(puts=notes)
    return notes


async def test_iter_goes_over_many_pages(shell: Shell) -> None:
    notes = await notes_of_many_pages(shell)
    with shell.meter() as meter:
        found = [note async for note in shell.iter(Note.of_user(ADA))]
    assert found == notes
    assert meter.requests >= 4
    down = [note.written_at async for note in shell.iter(Note.of_user(ADA).newest_first())]
    assert down == [note.written_at for note in reversed(notes)]


async def test_iter_asks_for_a_page_when_it_is_reached(shell: Shell) -> None:
    await notes_of_many_pages(shell)
    with shell.meter() as meter:
        found = shell.iter(Note.of_user(ADA))
        assert meter.requests == 0
        await anext(found)
        assert meter.requests == 1


async def test_all_refuses_more_than_max_pages(shell: Shell) -> None:
    notes = await notes_of_many_pages(shell)
    assert await shell.all(Note.of_user(ADA)) == notes
    with pytest.raises(InvalidRequest, match="more than 2 pages") as refused:
        await shell.all(Note.of_user(ADA), max_pages=2)
    assert refused.value.hint == "Raise max_pages, or use iter() or page(), which load one page at a time."


async def test_a_page_of_more_than_a_megabyte_is_filled(shell: Shell) -> None:
    notes = await notes_of_many_pages(shell)
    page = await shell.page(Note.of_user(ADA), limit=30)
    assert list(page) == notes[:30]
    assert list(await shell.page(Note.of_user(ADA), limit=30, after=page.cursor)) == notes[30:]


async def test_nothing_is_nothing(shell: Shell) -> None:
    assert await shell.all(Note.of_user("nobody")) == []
    assert [n async for n in shell.iter(Note.of_user("nobody"))] == []
    page = await shell.page(Note.of_user("nobody"))
    assert (list(page), page.cursor, len(page)) == ([], None, 0)


async def test_scan_finds_every_entity_of_a_class(shell: Shell) -> None:
    members = [membership(n, f"{n % 7}@example.org") for n in range(40)]
    await shell.write_many(puts=[*members, User(email=ADA)])
    found = [m async for m in shell.scan(Membership)]
    assert sorted(found, key=lambda m: m.org_id) == members
    assert [u async for u in shell.scan(User, consistent=True)] == [User(email=ADA)]


@pytest.mark.parametrize("segments", [1, 3, 8])
async def test_the_segments_of_a_scan_are_disjoint_and_complete(shell: Shell, segments: int) -> None:
    members = [membership(n, f"{n}@example.org") for n in range(60)]
    await shell.write_many(puts=members)
    found: list[Membership] = []
    for segment in range(segments):
        found += [m async for m in shell.scan(Membership, segment=segment, segments=segments)]
    assert sorted(found, key=lambda m: m.org_id) == members


async def test_a_segment_that_is_none_is_refused(shell: Shell) -> None:
    with pytest.raises(InvalidRequest, match="segment"):
        await anext(shell.scan(User, segment=3, segments=3))


async def test_a_condition_of_another_class_is_refused(shell: Shell) -> None:
    with pytest.raises(InvalidRequest, match="not an attribute of Note"):
        await shell.all(Note.of_user(ADA).where(attr(User.name) == "x"))
