"""Pages: limits, directions, filters, and what a page costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from singletable import InvalidRequest, Query, after, at_least, attr, before, between
from tests.support.models import Membership, Note, User, membership
from tests.support.raw import put_raw
from tests.support.shells import Shell

ADA = "ada@example.org"
EVERY = [membership(n) for n in range(60)]


async def pages_of(shell: Shell, query: Query[Membership], limit: int) -> list[list[Membership]]:
    pages, cursor = [], None
    while True:
        page = await shell.page(query, limit=limit, after=cursor)
        pages.append(list(page))
        cursor = page.cursor
        if cursor is None:
            return pages


@pytest.fixture
async def filled(shell: Shell) -> Shell:
    await shell.write_many(puts=EVERY)
    return shell


async def test_pages_in_order_hold_each_item_once(filled: Shell) -> None:
    pages = await pages_of(filled, Membership.of_user(ADA), 25)
    assert [len(page) for page in pages] == [25, 25, 10]
    assert [item for page in pages for item in page] == EVERY


async def test_pages_newest_first(filled: Shell) -> None:
    pages = await pages_of(filled, Membership.of_user(ADA).newest_first(), 25)
    assert [item for page in pages for item in page] == EVERY[::-1]


async def test_pages_of_an_index(filled: Shell) -> None:
    same_time = [replace(m, org_id="o", email=f"{i:02}@example.org") for i, m in enumerate([EVERY[0]] * 30)]
    await filled.write_many(puts=same_time)
    pages = await pages_of(filled, Membership.of_org("o"), 7)
    assert [item for page in pages for item in page] == same_time
    pages = await pages_of(filled, Membership.of_org("o").newest_first(), 7)
    assert [item for page in pages for item in page] == same_time[::-1]


async def test_a_page_that_holds_the_last_item_may_have_a_cursor_to_an_empty_page(filled: Shell) -> None:
    page = await filled.page(Membership.of_user(ADA), limit=60)
    assert list(page) == EVERY
    if page.cursor is not None:
        assert list(await filled.page(Membership.of_user(ADA), limit=60, after=page.cursor)) == []
    assert (await filled.page(Membership.of_user(ADA), limit=61)).cursor is None


async def test_one_page_is_one_request_of_what_it_holds(filled: Shell) -> None:
    with filled.meter() as meter:
        page = await filled.page(Membership.of_user(ADA), limit=10)
    assert (len(page), meter.requests) == (10, 1)
    assert meter.read_units == 0.5


async def test_the_limit_may_change_from_page_to_page(filled: Shell) -> None:
    first = await filled.page(Membership.of_user(ADA), limit=5)
    second = await filled.page(Membership.of_user(ADA), limit=20, after=first.cursor)
    assert [*first, *second] == EVERY[:25]


async def test_a_limit_below_one_is_refused(shell: Shell) -> None:
    with pytest.raises(InvalidRequest, match="at least one item"):
        await shell.page(Membership.of_user(ADA), limit=0)


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (before("o0003"), range(3)),
        (after("o0056"), range(57, 60)),
        (at_least("o0057"), range(57, 60)),
        (between("o0010", "o0012"), range(10, 13)),
        ("o0007", range(7, 8)),
        (before("a"), range(0)),
    ],
)
async def test_a_range_returns_exactly_its_items(filled: Shell, wanted: str, numbers: range) -> None:
    expected = [EVERY[n] for n in numbers]
    assert await filled.all(Membership.of_user(ADA, wanted)) == expected
    assert [item async for item in filled.iter(Membership.of_user(ADA, wanted).newest_first())] == expected[::-1]


async def test_a_filter_that_leaves_out_much_still_fills_its_pages(filled: Shell) -> None:
    rare = Membership.of_user(ADA).where(attr(Membership.org_id).is_in("o0003", "o0031", "o0058"))
    with filled.meter() as meter:
        page = await filled.page(rare, limit=2)
    assert [m.org_id for m in page] == ["o0003", "o0031"]
    assert meter.requests <= 60 / (2 * 4) + 1
    rest = await filled.page(rare, limit=2, after=page.cursor)
    assert [m.org_id for m in rest] == ["o0058"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 25])
@pytest.mark.parametrize("down", [False, True])
async def test_a_filter_never_loses_or_repeats_an_item(filled: Shell, limit: int, down: bool) -> None:
    query = Membership.of_user(ADA).where(~attr(Membership.org_id).contains("3"))
    expected = [m for m in EVERY if "3" not in m.org_id]
    pages = await pages_of(filled, query.newest_first() if down else query, limit)
    assert [item for page in pages for item in page] == (expected[::-1] if down else expected)
    assert all(len(page) == limit for page in pages[:-1])


async def test_max_pages_bounds_the_requests_of_a_page(filled: Shell) -> None:
    none = Membership.of_user(ADA).where(attr(Membership.org_id) == "nowhere")
    with filled.meter() as meter:
        page = await filled.page(none, limit=5, max_pages=2)
    assert (list(page), meter.requests) == ([], 2)
    assert page.cursor is not None
    assert list(await filled.page(none, limit=5, after=page.cursor)) == []


async def test_an_item_of_no_class_in_the_range_costs_no_place(filled: Shell) -> None:
    alien = {"pk": {"S": f"user#{ADA}"}, "sk": {"S": "member#o0000x"}, "_type": {"S": "alien"}}
    await put_raw(filled.port, Membership, alien)
    pages = await pages_of(filled, Membership.of_user(ADA), 25)
    assert [item for page in pages for item in page] == EVERY


async def test_other_classes_of_the_partition_stay_out(filled: Shell) -> None:
    await filled.put(User(email=ADA))
    await filled.put(Note(email=ADA, written_at=EVERY[0].created_at))
    assert await filled.all(Membership.of_user(ADA)) == EVERY
