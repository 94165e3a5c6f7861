"""Each form of each pattern of the four applications gives what the API gives, from their own data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import msgspec
import pytest

from singletable import KeyOf, Page, connect_async
from singletable.foundation import model_of
from singletable.pattern_calls import Pattern, patterns_of
from singletable.schema import Whole
from tests.studio.applications import TABLES, Application, filled
from tests.studio.visitor import Visitor, shown, visiting

MOST_CALLS = 3
"""Of each pattern, with the arguments of so many items."""


@pytest.fixture(scope="module", params=list(TABLES))
def application(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    yield from filled(request.param, tmp_path_factory.mktemp("applications"))


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
        values = {name: getattr(item, name, None) for name in pattern.slots}
        if all(value is not None for value in values.values()) and values not in found:
            found.append(values)
            if len(found) == MOST_CALLS:
                break
    yield from found


def asked(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: text_of(value) for name, value in values.items()} | {"run": "1", "limit": "100", "personal": "shown"}


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


async def compare(visitor: Visitor, application: Application, pattern: Pattern, values: Mapping[str, Any]) -> int:
    """Ask by the form and by the API; how many items both found."""
    path = f"/patterns/{application.table.name}/{pattern.entity}/{pattern.name}"
    page = (await visitor.client.get(f"{path}.json", params=asked(values))).json()
    assert page.get("asked"), page
    query = pattern.call(**values)
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
    found = 0
    async with connect_async(application.target) as db, visiting(db, application.table) as visitor:
        for pattern in patterns_of(application.table):
            for values in arguments(application, pattern):
                found += await compare(visitor, application, pattern, values)
                some = {name: value for name, value in values.items() if name in pattern.required}
                found += await compare(visitor, application, pattern, some)
    assert found > 20


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
