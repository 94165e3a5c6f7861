"""Hostile content in attributes, keys, class names, addresses and errors is shown as text, by every page."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import pytest

from singletable import Entity, Key, Table
from singletable.operations import TableCall
from singletable.studio.pages import pages
from tests.studio.visitor import Visitor, kinds_of, visiting
from tests.support.engines import fresh_async

SCRIPT = "</textarea></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'`{{7*7}}"
TURNING = "\u202egnp.exe\u2066\u200b\ufeff\u061c"
STEERING = "\x1b[31m\x1b]0;owned\x07\x00\x08\x9b\x7f"
NASTY = f"{SCRIPT}{TURNING}{STEERING}"
IN_KEYS = f"{SCRIPT}{TURNING}".replace("\u200b", "").replace("\ufeff", "")
HARMFUL = [each for each in {*TURNING, *STEERING} if ord(each) not in range(32, 127)]
LAYERS = ("graph", "documents", "work")
"""Sections whose pages tests/studio/test_hostile_layers.py visits."""
FIELDS = re.compile(r"(?s)<textarea[^>]*>[^<]*</textarea>|<input[^>]*>")
HOSTILE_NAME = 'X/../<img src=x onerror="alert(1)">\u202e'
hostile = Table("hostile", indexes=["gsi1"])


class Plain(Entity, table=hostile, type="plain"):
    __doc__ = f"{SCRIPT}{TURNING}"
    id: str
    text: str = ""
    maybe: str | None = None
    lists: list[str] | None = None
    maps: dict[str, str] | None = None

    @hostile.key
    @staticmethod
    def by_id(id: str) -> Key:
        """</script><script>alert("doc")</script>"""
        return f"plain#{id}", "plain"

    @hostile.index("gsi1")
    @staticmethod
    def by_text(text: str) -> Key:
        return f"text#{text}", "plain"


Plain.__name__ = Plain.__qualname__ = HOSTILE_NAME


class Reader(HTMLParser):
    """The elements and attributes of a page that could run something, or load it from elsewhere."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given: dict[str, Any] = dict(attrs)
        if tag == "script" and not str(given.get("src", "")).startswith("/static/"):
            self.found.append(f"<script {given}>")
        if tag in ("img", "iframe", "object", "embed", "style", "base", "math"):
            self.found.append(f"<{tag}>")
        for name, value in given.items():
            if name.startswith("on") or name in ("style", "srcdoc"):
                self.found.append(f"{tag} {name}={value}")
            if name in ("href", "src", "action", "formaction") and not str(value).startswith(("/", "#", "?")):
                self.found.append(f"{tag} {name}={value}")


def harm_of(html: str) -> list[str]:
    """What could run, turn or steer something. The fields of a form hold a text as it is, to give it back."""
    around = FIELDS.sub("", html)
    return Reader(html).found + [f"U+{ord(each):04X}" for each in HARMFUL if each in around]


@pytest.fixture
async def visitor() -> AsyncIterator[Visitor]:
    async with fresh_async() as db:
        await db.create_table(hostile)
        await db.create(Plain(id=IN_KEYS, text=NASTY, maybe=NASTY, lists=[NASTY], maps={NASTY: NASTY}))
        raw = {"pk": {"S": f"raw#{NASTY}"}, "sk": {"S": NASTY}, "_type": {"S": NASTY}, NASTY: {"S": NASTY}}
        await db.port.send(TableCall("PutItem", {"TableName": "hostile", "Item": raw}))
        async with visiting(db, hostile, write=True) as visitor:
            yield visitor


HERE = ("/", f"/item/hostile?pk={quote(f'raw#{NASTY}', safe='')}&sk={quote(NASTY, safe='')}")


async def followed(visitor: Visitor, *begin: str, most: int = 60) -> list[str]:
    """Every page, from one link to the next."""
    seen: dict[str, None] = {}
    left = [*begin]
    while left and len(seen) < most:
        path = left.pop(0)
        if path in seen or path.startswith("/static") or ".json" in path:
            continue
        seen[path] = None
        found = Links((await visitor.client.get(path)).text).found
        left += [each for each in found if each not in seen]
    return list(seen)


async def all_text(visitor: Visitor, paths: list[str]) -> None:
    """Each page, and its twin, shows all of it as text."""
    for path in paths:
        answer = await visitor.client.get(path)
        assert answer.status_code in (200, 400), path
        assert harm_of(answer.text) == [], path
        twin = path.replace("?", ".json?", 1) if "?" in path else f"{path}.json"
        text = (await visitor.client.get(twin)).text
        assert not any(each in text for each in HARMFUL), twin


class Links(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag == "a" and href and href.startswith("/"):
            self.found.append(href)


async def test_every_page_shows_it_as_text(visitor: Visitor) -> None:
    paths = await followed(visitor, *HERE)
    assert kinds_of(paths) == {page.path for page in pages() if page.path.split("/")[1] not in LAYERS}
    await all_text(visitor, paths)


@pytest.mark.parametrize(
    "path",
    [
        f"/{quote(SCRIPT, safe='')}",
        f"/patterns/hostile/{quote(NASTY, safe='')}/x",
        f"/partition/{quote(NASTY, safe='')}?pk=x",
        f"/partition/hostile?pk=x&index={quote(NASTY, safe='')}",
        f"/partition/hostile?pk=x&after={quote(NASTY, safe='')}",
        f"/item/hostile?k={quote(NASTY, safe='')}",
        f"/item/hostile?pk={'x' * 5000}&sk={quote(NASTY, safe='')}",
    ],
)
async def test_errors_show_it_as_text(visitor: Visitor, path: str) -> None:
    answer = await visitor.client.get(path)
    assert answer.status_code in (400, 404)
    assert harm_of(answer.text) == []


async def test_a_form_gives_back_what_was_typed_as_text(visitor: Visitor) -> None:
    path = f"/item/hostile/edit?pk={quote(f'plain#{IN_KEYS}', safe='')}&sk=plain"
    page = await visitor.client.get(path)
    assert page.status_code in (200, 404)
    token = await visitor.token()
    typed = f"{SCRIPT}{TURNING}"
    answer = await visitor.send(path, {"form_token": token, "seen": "x", "value.maybe": typed, "value.text": typed})
    assert Reader(answer.text).found == []


async def test_a_megabyte_is_cut(visitor: Visitor) -> None:
    """An error that would repeat it, and an argument of a pattern."""
    answer = await visitor.client.get("/patterns/hostile/x/y", params={"id": "z" * 60_000})
    assert len(answer.text) < 20_000
    token = await visitor.token()
    answer = await visitor.send("/item/hostile/edit?pk=x&sk=y", {"form_token": token, "text": "z" * 1_000_000})
    assert answer.status_code == 404
    assert len(answer.text) < 20_000
