"""Each form of each pattern of the four applications gives what the API gives, from their own data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import msgspec
import pytest

from singletable import KeyOf, Page, between, connect_async
from singletable.foundation import model_of
from singletable.graph import Edge
from singletable.pattern_calls import RANGES, Pattern, patterns_of
from singletable.schema import Whole
from tests.studio.applications import TABLES, Application, filled
from tests.studio.seldom_items import SELDOM
from tests.studio.visitor import Visitor, shown, visiting

MOST_CALLS = 3
"""Of each pattern, with the arguments of so many items."""


@pytest.fixture(scope="module", params=list(TABLES))
def application(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    for made in filled(request.param, tmp_path_factory.mktemp("applications")):
        if made.name in SELDOM:
            SELDOM[made.name](made.db)
        yield made


def text_of(value: Any) -> str:
    """What a person types for a value."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, KeyOf):
        return str(value.partition)
    if isinstance(value, type):
        return str(model_of(value).type)
    assert isinstance(value, (str, int, Decimal, UUID))
    return str(value)


def arguments(application: Application, pattern: Pattern) -> Iterator[dict[str, Any]]:
    """What the items of a table give to the parameters of a pattern."""
    found: list[dict[str, Any]] = []
    for item in application.db.scan(pattern.captured.owner):
        values = {name: value_in(item, name) for name in pattern.slots}
        if all(value is not None for value in values.values()) and values not in found:
            found.append(values)
            if len(found) == MOST_CALLS:
                break
    yield from found


def value_in(item: Any, name: str) -> Any:
    """What an item gives to a parameter; an edge knows the class of its target."""
    if isinstance(item, Edge) and name == "kind":
        return item.target.model.kind
    return getattr(item, name, None)


def asked(values: Mapping[str, Any]) -> dict[str, str]:
    """The form for some values: one of them may be a range, with its name and its ends."""
    form = {"run": "1", "limit": "100", "personal": "shown"}
    for name, value in values.items():
        how, *ends = value if isinstance(value, tuple) else ("exactly", value)
        form |= {name: text_of(ends[0]), f"{name}.how": how, f"{name}.to": text_of(ends[-1])}
    return form


def ranges(pattern: Pattern, values: Mapping[str, Any], hows: Mapping[str, list[str]]) -> Iterator[dict[str, Any]]:
    """Each range that the form offers, at the values of an item, with the parameters before it and none after it."""
    before = {name: values[name] for name in pattern.required}
    for name in (each for each in pattern.slots if each not in pattern.required):
        for how in hows.get(name, []):
            yield before | {name: (how, values[name], values[name])}
        before |= {name: values[name]}


def as_argument(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    how, *ends = value
    return between(*ends) if how == "between" else ends[0] if how == "exactly" else RANGES[how](ends[0])


def plain(value: Any) -> Any:
    """A value as JSON has it."""

    if isinstance(value, KeyOf):
        return value.partition
    encoder = msgspec.json.Encoder(order="deterministic", decimal_format="number")
    return msgspec.json.decode(encoder.encode(value))


def said(item: Any, columns: list[str]) -> list[Any]:
    return [plain(getattr(item, name, None)) for name in columns]


def listed(part: Any) -> list[Any]:
    """A part of a collection as a list."""
    return [] if part is None else [*part] if hasattr(part, "__iter__") else [part]


def called(page: Any) -> list[Any]:
    """What the Python code to copy reads, with the imports that it names."""
    seen: list[Any] = []

    def page_of(query: Any, limit: int) -> None:
        seen.append(query)

    db = SimpleNamespace(page=page_of, get=seen.append)
    code = next(call["text"] for call in page["calls"] if call["name"] == "Python")
    exec(code, {"db": db})
    return seen


def path_of(application: Application, pattern: Pattern) -> str:
    return f"/patterns/{application.table.name}/{pattern.entity}/{pattern.name}"


async def compare(visitor: Visitor, application: Application, pattern: Pattern, values: Mapping[str, Any]) -> int:
    """Ask by the form and by the API; how many items both found."""
    page = (await visitor.client.get(f"{path_of(application, pattern)}.json", params=asked(values))).json()
    assert page.get("asked"), page
    query = pattern.call(**{name: as_argument(value) for name, value in values.items()})
    if not pattern.captured.model.is_system:
        assert called(page) == [query]
    found = 0
    if isinstance(query, Whole):
        whole: Any = application.db.get(query)
        for rows in page["results"]:
            part: Any = getattr(whole, rows["name"]) if whole is not None else []
            items = listed(part)
            assert [row["values"] for row in rows["rows"]] == [said(item, rows["columns"]) for item in items]
            found += len(items)
        return found
    if isinstance(query, KeyOf) and query.is_one_key:
        one: Any = application.db.get(query)
        answer: Page[Any] = Page([] if one is None else [one])
    else:
        answer = application.db.page(query, limit=100)
    (rows,) = page["results"]
    assert [row["values"] for row in rows["rows"]] == [said(item, rows["columns"]) for item in answer.items]
    return len(answer.items)


async def test_each_form_gives_what_the_api_gives(application: Application) -> None:
    """With all of its arguments, with those that are needed, and with each range. Every form of the application's own
    classes and collections finds something."""
    found: Counter[str] = Counter()
    async with connect_async(application.target) as db, visiting(db, application.table) as visitor:
        for pattern in patterns_of(application.table):
            page = await visitor.json(f"{path_of(application, pattern)}.json")
            hows = {field["name"]: [how["value"] for how in field["hows"]] for field in page["fields"]}
            for number, values in enumerate(arguments(application, pattern)):
                some = {name: value for name, value in values.items() if name in pattern.required}
                for form in (values, some, *(ranges(pattern, values, hows) if number == 0 else ())):
                    found[pattern.shown] += await compare(visitor, application, pattern, form)
        shown = await visitor.json("/patterns.json")
    groups = [group for table in shown["tables"] for group in table["groups"]]
    own = {f"{group['entity']}.{row['name']}" for group in groups for row in group["rows"]}
    assert {name for name in own if not found[name]} == set()


async def test_each_page_of_a_pattern_is_there(application: Application) -> None:
    """Without arguments a form sends nothing."""
    async with connect_async(application.target) as db, visiting(db, application.table) as visitor:
        listed = await visitor.json("/patterns.json")
        visitor.sent.clear()
        rows = [row for table in listed["tables"] for group in table["groups"] for row in group["rows"]]
        for row in rows:
            text = shown(await visitor.page(row["address"]))
            assert row["partition"] in text
        assert len(rows) == listed["count"]
        assert visitor.sent == []
