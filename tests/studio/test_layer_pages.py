"""The pages of graph, documents and work over ASGI: what they show, what they cost, and what they refuse."""

from __future__ import annotations

import asyncio  # noqa: TID251 the server is an event loop
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest

from goals.model import Goal, GoalMembership, records
from projects.model import projects, rename
from singletable import Database
from singletable.foundation import COVERED
from singletable.release import Hold
from singletable.streams import ChangeWorker
from singletable.studio import studio
from singletable.studio.pages import work as work_pages
from singletable.tasks import TaskWorker
from tests.studio.views.conftest import BOARD, NASTY, Boards, boards, goals
from tests.studio.views.work import Shop, open_shop
from tests.studio.visitor import URL, Visitor, client_of, shown, visiting
from tests.support.engines import awaiting

__all__ = ["boards", "goals"]

BUDGETS = {
    "/graph/records": (1, 3),
    "/graph/records?node=GOAL-G1": (8, 10),
    "/graph/records?node=USER-U1": (6, 5),
    "/graph/records?node=ORGANISATION-everybody": (6, 9),
}
DOCUMENT = "/documents/projects/Project"
DOCUMENT_BUDGETS = {
    "/documents/projects": (1, 2),
    "/documents/projects?parent=demo": (1, 1),
    f"{DOCUMENT}?id=atlas": (4, 8),
    f"{DOCUMENT}?id=atlas&version=9&since=4&item=shapes/s1&personal=shown": (4, 17),
    f"{DOCUMENT}/history?id=atlas": (5, 5),
    f"{DOCUMENT}/inbox?id=atlas": (4, 4),
    f"{DOCUMENT}/contents?id=atlas": (4, 4),
    f"{DOCUMENT}/collection?id=atlas&version=4&collection=shapes": (2, 3),
    f"{DOCUMENT}/restore?id=atlas&version=4": (5, 18),
}
WORK_BUDGETS = {
    "/work/shop": (25, 13),
    "/work/shop/task?key=b": (1, 1),
    "/work/shop/order?order=harbour": (2, 2),
    "/work/shop?consumer=bills": (9, 5),
}
LETTER = "/work/shop/letter"
"""Its budget is of an address that is known when the letter is there: a request, and a read unit."""


@pytest.fixture
async def graph(goals: Database) -> AsyncIterator[Visitor]:
    async with awaiting(goals) as db, visiting(db, records) as visitor:
        yield visitor


@pytest.fixture
async def drawn(boards: Boards) -> AsyncIterator[Visitor]:
    async with awaiting(boards.db) as db, visiting(db, projects, write=True, blobs=boards.blobs) as visitor:
        yield visitor


@pytest.fixture
def shop() -> Iterator[Shop]:
    with open_shop() as shop:
        shop.broken = {"bad", "worse"}
        for id in ("bad", "good"):
            shop.db.create(shop.order(id=id, name=f"Ada {NASTY}"))
        shop.drain()
        for id in ("bad", "worse"):
            shop.schedule(id, 0)
        shop.work()
        shop.schedule("b", 10)
        shop.schedule("o1", 10, order="harbour")
        yield shop


@pytest.fixture
async def work(shop: Shop) -> AsyncIterator[Visitor]:
    async with awaiting(shop.db) as db, visiting(db, shop.table, write=True) as visitor:
        yield visitor


async def within_budget(visitor: Visitor, budgets: Mapping[str, tuple[int, float]]) -> None:
    for path, (requests, units) in budgets.items():
        page, _, query = path.partition("?")
        await visitor.page(path)  # what a table's first use needs is known from here on
        cost = (await visitor.json(f"{page}.json?{query}"))["cost"]
        assert (cost["requests"] <= requests, cost["read_units"] <= units) == (True, True), (path, cost)
        assert cost["write_units"] == 0
        html = await visitor.page(path)
        assert f"{cost['requests']} request" in shown(html)


def safe(html: str) -> bool:
    """Whether nothing that others wrote is markup, or steers what follows it."""
    return "<script>alert" not in html and "\u202e" not in html and "\x1b" not in html


# --- graph ------------------------------------------------------------------------------------------------------------
async def test_the_pages_of_a_graph_keep_to_their_budgets(graph: Visitor) -> None:
    await within_budget(graph, BUDGETS)


async def test_a_node_is_a_table_without_a_script(graph: Visitor) -> None:
    text = shown(await graph.page("/graph/records?node=GOAL-G1"))
    assert "GoalMembership User U1 role LEAD since 2026-01-05 listed" in text
    assert "Subscriber User U6" in text
    assert "PartOf to it" in text
    assert "GoalMembership 4 of 100 4" in text


async def test_a_user_name_is_shown_when_it_is_asked_for(graph: Visitor) -> None:
    path = "/graph/records?node=USER-U1"
    assert "Ada Lovelace" not in await graph.page(path)
    assert "Ada Lovelace" in await graph.page(f"{path}&personal=shown")


async def test_hostile_nodes_are_text(goals: Database) -> None:
    goals.create(Goal(id=f"x{NASTY.replace(chr(27), '')}"[:20], title=NASTY * 20))
    async with awaiting(goals) as db, visiting(db, records) as visitor:
        (node,) = [
            n for n in (await visitor.json("/graph/records.json"))["graph"]["some"] if n["label"][:8] == "<script>"
        ]
        for path in ("/graph/records", f"/graph/records?node={quote(node['key'])}"):
            html = await visitor.page(path)
            assert safe(html)
            assert "⟨U+202E⟩" in html


@pytest.mark.parametrize("node", ["nothing", "GOAL-", "FISH-1"])
async def test_a_key_that_is_no_node(graph: Visitor, node: str) -> None:
    sent = len(graph.sent)
    assert "not the key of a node" in await graph.page(f"/graph/records?node={node}", 400)
    assert graph.sent[sent:] == []


async def test_a_node_that_is_not_there(graph: Visitor) -> None:
    assert "missing" in shown(await graph.page("/graph/records?node=GOAL-nowhere"))


async def test_a_cursor_of_another_node_is_refused(graph: Visitor) -> None:
    await graph.page("/graph/records?node=GOAL-G1&after=nonsense", 400)


async def test_what_a_user_may_not_read_is_neither_sent_for_nor_shown(goals: Database) -> None:
    def may(user: str, kind: type[Any], right: str) -> bool:
        return kind in (Goal, GoalMembership)

    async with awaiting(goals) as db:
        app = studio(db, records, authenticate=lambda request: "eve", authorise=may)
        async with client_of(app) as client:
            page = (await client.get("/graph/records?node=GOAL-G1")).text
            assert "USER-U1" not in page
            assert "Subscriber" not in page
            assert "GoalMembership" in page
            assert (await client.get("/graph/records?node=USER-U1")).status_code == 400


# --- documents --------------------------------------------------------------------------------------------------------
async def test_the_pages_of_documents_keep_to_their_budgets(drawn: Visitor) -> None:
    await within_budget(drawn, DOCUMENT_BUDGETS)


async def test_hostile_documents_are_text(drawn: Visitor) -> None:
    for path in DOCUMENT_BUDGETS:
        assert safe(await drawn.page(f"{path}{'&' if '?' in path else '?'}personal=shown"))


async def test_two_versions_side_by_side(drawn: Visitor) -> None:
    html = await drawn.page(f"{DOCUMENT}?id=atlas&version=9&since=4&item=shapes/s1&personal=shown")
    text = shown(html)
    assert "name Atlas Atlas of the harbour" in text
    assert "3 changed s1 s2 s4" in text
    assert '− "x": 40,' in text
    assert '+ "x": 400,' in text
    assert "put_shape rejected" in text
    assert "/item/projects?pk=Project%23atlas&amp;sk=ProjectVersion%23pv_000000000009" in html
    covered = shown(await drawn.page(f"{DOCUMENT}?id=atlas&version=9&since=4&item=shapes/s1"))
    assert "Atlas of the harbour" not in covered
    assert COVERED in covered


async def restoring(visitor: Visitor, version: int) -> dict[str, str]:
    """The form of the page that asks."""
    path = f"{DOCUMENT}/restore?id=atlas&version={version}"
    over = re.search(r'name="over" value="(\d+)"', await visitor.page(path))
    assert over is not None
    return {"form_token": await visitor.token(path), "id": BOARD, "version": str(version), "over": over[1]}


async def test_a_version_is_restored_over_the_one_that_was_seen(drawn: Visitor, boards: Boards) -> None:
    answer = await drawn.send(f"{DOCUMENT}/restore", await restoring(drawn, 4))
    assert (answer.status_code, answer.headers["location"]) == (303, f"{DOCUMENT}?id=atlas&version=10&since=9")
    assert not boards.app.boards.diff(BOARD, 4, 10)
    assert boards.app.boards.history(BOARD, limit=1).items[0].mutations[0].client.startswith("studio-")


async def test_a_restore_of_a_document_that_has_changed_is_refused_and_shows_it(drawn: Visitor, boards: Boards) -> None:
    form = await restoring(drawn, 4)
    boards.app.boards.apply(BOARD, [rename(name="somebody else's").by("ada", 7)])
    answer = await drawn.send(f"{DOCUMENT}/restore", form)
    assert answer.status_code == 409
    assert "Nothing was restored." in shown(answer.text)
    assert 'href="/static/layers.css"' in answer.text
    assert boards.app.boards.head(BOARD).name == "somebody else's"
    again = await drawn.send(f"{DOCUMENT}/restore", await restoring(drawn, 4))
    assert again.status_code == 303


async def test_a_restore_needs_its_right_and_its_token(boards: Boards, drawn: Visitor) -> None:
    form = await restoring(drawn, 4)
    assert (await drawn.send(f"{DOCUMENT}/restore", form | {"form_token": "x"})).status_code == 403
    async with awaiting(boards.db) as db, visiting(db, projects, blobs=boards.blobs) as reader:
        token = await reader.token("/")
        assert (await reader.send(f"{DOCUMENT}/restore", form | {"form_token": token})).status_code == 403
        await reader.page(f"{DOCUMENT}/restore?id=atlas&version=4", 403)
    assert boards.app.boards.head(BOARD).version == 9


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/documents/projects/Nothing?id=atlas", 404),
        (f"{DOCUMENT}?id=nothing", 404),
        (f"{DOCUMENT}?id=atlas&version=99", 404),
        (f"{DOCUMENT}?id=atlas&version=-1", 400),
        (f"{DOCUMENT}?id=atlas&version=x", 400),
        (DOCUMENT, 400),
        (f"{DOCUMENT}/collection?id=atlas&version=4&collection=nothing", 404),
        (f"{DOCUMENT}/history?id=atlas&after=nonsense", 400),
    ],
)
async def test_addresses_that_name_nothing(drawn: Visitor, path: str, status: int) -> None:
    await drawn.page(path, status)


# --- work -------------------------------------------------------------------------------------------------------------
async def test_the_pages_of_work_keep_to_their_budgets(work: Visitor) -> None:
    await within_budget(work, WORK_BUDGETS)
    (card,) = (await work.json("/work/shop.json"))["consumers"]
    line = card["letters"]["letters"][0]
    place = {"consumer": "bills", **{name: line[name] for name in ("stream", "shard", "sequence")}}
    await within_budget(work, {f"{LETTER}?{urlencode(place)}": (1, 1)})


async def test_work_shows_consumers_tasks_and_what_is_dead(work: Visitor) -> None:
    text = shown(await work.page("/work/shop"))
    for said in ("bills up to date", "1 dead letter", "order insert", "ship waits", "Dead tasks 2", "harbour"):
        assert said in text
    assert "no bill for" not in text
    for path in (*WORK_BUDGETS, "/work/shop/task?key=bad"):
        assert safe(await work.page(f"{path}{'&' if '?' in path else '?'}personal=shown"))


async def test_work_says_that_the_table_is_held(work: Visitor, shop: Shop) -> None:
    assert "is held" not in shown(await work.page("/work/shop"))
    Hold(shop.db, shop.table).begin("copied from production", in_use=False)
    assert "The table is held: copied from production, since 20" in shown(await work.page("/work/shop"))
    Hold(shop.db, shop.table).release()
    assert "is held" not in shown(await work.page("/work/shop"))


async def test_items_lead_to_their_layers(graph: Visitor, drawn: Visitor, work: Visitor) -> None:
    places = [
        (graph, "/item/records?pk=GOAL-G1&sk=GOAL-G1", "/graph/records?node=GOAL-G1"),
        (graph, "/item/records?pk=GOAL-G1&sk=SUBSCRIBER-USER-U1", "/graph/records?node=GOAL-G1"),
        (drawn, "/item/projects?pk=Project%23atlas&sk=ProjectVersion%23pv_000000000004", f"{DOCUMENT}?id=atlas"),
        (work, "/item/shop?pk=_task%23bad&sk=_task", "/work/shop/task?key=bad"),
    ]
    for visitor, item, page in places:
        assert (await visitor.json(item.replace("?", ".json?")))["layer"]["address"] == page
        await visitor.page(page)
    assert (await work.json("/item/shop.json?pk=order%23bad&sk=order"))["layer"] is None


async def test_pages_lead_to_items(work: Visitor) -> None:
    assert "/item/shop?pk=_task%23bad&amp;sk=_task" in await work.page("/work/shop/task?key=bad")
    (card,) = (await work.json("/work/shop.json"))["consumers"]
    line = card["letters"]["letters"][0]
    place = {"consumer": "bills", **{name: line[name] for name in ("stream", "shard", "sequence")}}
    assert "/item/shop?pk=order%23bad&amp;sk=order" in await work.page(f"/work/shop/letter?{urlencode(place)}")


async def task_form(visitor: Visitor, key: str, do: str) -> dict[str, str]:
    path = f"/work/shop/task?key={key}"
    fence = re.search(r'name="fence" value="(\d+)"', await visitor.page(path))
    assert fence is not None
    return {"form_token": await visitor.token(path), "key": key, "fence": fence[1], "do": do}


async def test_a_dead_task_is_retried_and_another_dropped(work: Visitor, shop: Shop) -> None:
    shop.broken = set()
    for key, do in (("bad", "retry"), ("worse", "drop")):
        assert (await work.send("/work/shop/task", await task_form(work, key, do))).status_code == 303
    shop.work()
    assert "shipped bad" in shop.seen
    assert "shipped worse" not in shop.seen
    assert TaskWorker(shop.db, shop.tasks).dead_letters() == []


async def test_a_task_that_has_changed_since_it_was_seen_stays(work: Visitor, shop: Shop) -> None:
    form = await task_form(work, "bad", "drop")
    TaskWorker(shop.db, shop.tasks).retry("bad")
    assert (await work.send("/work/shop/task", form)).status_code == 409
    shop.work()  # it dies again, with another fence
    assert (await work.send("/work/shop/task", form)).status_code == 409
    assert [letter.key for letter in TaskWorker(shop.db, shop.tasks).dead_letters()] == ["worse", "bad"]


async def letter_form(visitor: Visitor, do: str) -> dict[str, str]:
    (card,) = (await visitor.json("/work/shop.json"))["consumers"]
    line = card["letters"]["letters"][0]
    place = {"consumer": "bills", "leases": "own", **{name: line[name] for name in ("stream", "shard", "sequence")}}
    token = await visitor.token(f"/work/shop/letter?{urlencode(place)}")
    return {**place, "tries": str(line["tries"]), "at": line["at"], "form_token": token, "do": do}


async def test_a_dead_letter_is_retried_here(work: Visitor, shop: Shop) -> None:
    form = await letter_form(work, "retry")
    failed = await work.send("/work/shop/letter", form)
    assert failed.status_code == 409
    assert "It failed again." in shown(failed.text)
    assert 'href="/static/layers.css"' in failed.text
    assert "no bill for" not in failed.text
    shop.broken = set()
    assert (await work.send("/work/shop/letter", form)).status_code == 303
    assert "bad" in shop.seen
    assert ChangeWorker(shop.db, shop.changes).dead_letters() == []
    assert (await work.send("/work/shop/letter", form)).status_code == 404


async def test_a_dead_letter_is_dropped(work: Visitor, shop: Shop) -> None:
    form = await letter_form(work, "drop")
    assert (await work.send("/work/shop/letter", form | {"tries": "9"})).status_code == 409
    shop.seen.clear()
    assert (await work.send("/work/shop/letter", form)).status_code == 303
    assert (ChangeWorker(shop.db, shop.changes).dead_letters(), shop.seen) == ([], [])


async def test_who_may_write_and_not_read_writes_nothing(shop: Shop, work: Visitor) -> None:
    """The right to write adds to the right to read: nobody changes what they may not see."""
    forms = {"task": await task_form(work, "bad", "drop"), "letter": await letter_form(work, "drop")}
    async with awaiting(shop.db) as db:

        def may(user: str, kind: type[Any], right: str) -> bool:
            return right == "write"

        made = studio(db, shop.table, authenticate=lambda request: "eve", authorise=may, write=True)
        async with client_of(made) as client:
            page = (await client.get("/")).text
            token = page.partition('name="form_token" value="')[2].partition('"')[0]
            client.headers["origin"] = URL
            for name, form in forms.items():
                answer = await client.post(f"/work/shop/{name}", data=form | {"form_token": token})
                assert (answer.status_code, "you may not write" in answer.text) == (403, True)
    assert len(TaskWorker(shop.db, shop.tasks).dead_letters()) == 2
    assert len(ChangeWorker(shop.db, shop.changes).dead_letters()) == 1


async def test_nothing_is_written_without_the_right(shop: Shop, work: Visitor) -> None:
    forms = {"task": await task_form(work, "bad", "drop"), "letter": await letter_form(work, "drop")}
    async with awaiting(shop.db) as db, visiting(db, shop.table) as reader:
        token = await reader.token("/")
        assert "Drop it" not in await reader.page("/work/shop/task?key=bad")
        sent = len(reader.sent)
        for path, form in forms.items():
            answer = await reader.send(f"/work/shop/{path}", form | {"form_token": token})
            assert answer.status_code == 403
        assert reader.sent[sent:] == []
    assert len(TaskWorker(shop.db, shop.tasks).dead_letters()) == 2


async def test_events_are_bounded_by_their_rate_and_units(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a reading of its own; they end by themselves when their units are used."""
    monkeypatch.setattr(work_pages, "MOST_UNITS", 25.0)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with awaiting(shop.db) as db, visiting(db, shop.table) as visitor:
        monkeypatch.setattr(db.port, "sleep", sleep)
        answer = await visitor.client.get("/work/shop/events?every=7")
        events = [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n\n") if line]
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert [event["is_over"] for event in events] == [False, False, True]
        assert slept == [7, 7]
        assert events[-1]["total"]["read_units"] == sum(event["cost"]["read_units"] for event in events) > 25
        assert all(safe(event["html"]) and "Dead tasks" in event["html"] for event in events)
        for every in ("1", "61", "x", "-5"):
            await visitor.json(f"/work/shop/events?every={every}", 400)


async def test_who_may_not_read_every_class_sees_no_work(shop: Shop) -> None:
    async with awaiting(shop.db) as db:
        app = studio(db, shop.table, authenticate=lambda request: "eve", authorise=lambda user, kind, right: False)
        async with client_of(app) as client:
            for path in ("/work/shop", "/work/shop/task?key=b", "/work/shop/order?order=harbour", "/work/shop/events"):
                answer: httpx.Response = await client.get(path)
                assert answer.status_code == 403, path


async def test_events_end_when_the_visitor_leaves(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """While they wait for the next reading: nothing more is read, and the application's call returns."""
    async with awaiting(shop.db) as db, visiting(db, shop.table) as visitor:
        monkeypatch.setattr(db.port, "sleep", lambda seconds: asyncio.Event().wait())
        left, bodies = asyncio.Event(), list[bytes]()

        async def receive() -> dict[str, str]:
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message.get("body"):
                bodies.append(message["body"])
                left.set()

        cookies = "; ".join(f"{name}={value}" for name, value in visitor.client.cookies.items())
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": "GET",
            "path": "/work/shop/events",
            "raw_path": b"/work/shop/events",
            "query_string": b"",
            "headers": [(b"host", URL.removeprefix("http://").encode()), (b"cookie", cookies.encode())],
        }
        await asyncio.wait_for(visitor.studio(scope, receive, send), 20)
        assert len(bodies) == 1
        assert bodies[0].startswith(b"data: ")
