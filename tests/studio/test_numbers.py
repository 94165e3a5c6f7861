"""Numbers that a visitor types: what is beyond a bound is refused by its name, however it is written."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from singletable import ANY, Entity, Key, Table
from singletable.documents import Document, Documents, Draft, Items, LocalBlobs
from singletable.tasks import Tasks
from tests.studio.visitor import Visitor, visiting
from tests.support.engines import awaiting, fresh

BEYOND = [
    *("0", "501", "0501", "000000001000000000", "000000001" + "0" * 4400, "9" * 5000, "-1", "+1", " 1", "1_0", "1e2"),
    *("1.0", "\N{ARABIC-INDIC DIGIT ONE}", "\N{SUPERSCRIPT TWO}", "NaN", "x"),
]
drawings = Table("drawings", indexes=["gsi1"], stream="new_and_old")
tasks = Tasks(drawings, index="gsi1")
measured = Table("measured")


class Drawing(Document, table=drawings, index="gsi1"):
    shapes: Items[str]


@Drawing.mutation
def put_shape(draft: Draft[Drawing], *, id: str) -> None:
    draft.shapes[id] = ""


class Reading(Entity, table=measured, type="reading"):
    sensor: str
    number: int
    value: Decimal
    at: datetime

    @measured.key
    @staticmethod
    def by_number(sensor: str, number: int = ANY, value: Decimal = ANY, at: datetime = ANY) -> Key:
        return f"sensor#{sensor}", f"{number}#{value}#{at}"


@pytest.mark.parametrize("number", BEYOND, ids=range(len(BEYOND)))
async def test_the_limit_of_a_pattern(visitor: Visitor, number: str) -> None:
    answer = await visitor.client.get("/patterns/app/User/by_phone.json", params={"phone": "1", "limit": number})
    assert (answer.status_code, answer.json()["what"]) == (400, "limit= is a number from 1 to 500")
    assert visitor.sent == []


async def test_numbers_of_documents_and_of_the_live_page(tmp_path: Path) -> None:
    path = "/documents/drawings/Drawing"
    with fresh() as opened:
        opened.create_table(drawings)
        made = Documents(opened, Drawing, blobs=LocalBlobs(tmp_path))
        made.create("p1", "d1")
        made.apply("d1", [put_shape(id="s1").by("ada", 1)])
        async with awaiting(opened) as db, visiting(db, drawings, write=True, blobs=LocalBlobs(tmp_path)) as visitor:
            form = {"form_token": await visitor.token(f"{path}/restore?id=d1&version=0"), "id": "d1", "version": "0"}
            for number in BEYOND:
                for page, name in (("", "version"), ("", "since"), ("/restore", "version"), ("/contents", "after")):
                    answer = await visitor.client.get(f"{path}{page}.json", params={"id": "d1", name: number})
                    is_one = number.isascii() and number.isdigit() and len(number) <= 12
                    assert answer.status_code in ((200, 404) if is_one else (400,)), (page, number, answer.text)
                answer = await visitor.send(f"{path}/restore", form | {"over": number})
                assert answer.status_code in (400, 404, 409)
                live = await visitor.client.get("/work/drawings/events", params={"every": number})
                assert live.json()["what"] == "every= is a number from 2 to 60"


async def test_numbers_of_a_key() -> None:
    """What a key can hold is asked; the rest stands beside its field."""
    with fresh() as opened:
        opened.create_table(measured)
        async with awaiting(opened) as db, visiting(db, measured) as visitor:
            for number in (*BEYOND, "1e999999999", "1e-999999999", "-Infinity", "sNaN", "9" * 39):
                for name in ("number", "value", "at"):
                    query = {"sensor": "a", "number": "1", "value": "1", "at": "2026-01-01T00:00:00Z", name: number}
                    answer = await visitor.client.get("/patterns/measured/Reading/by_number.json", params=query)
                    assert answer.status_code in (200, 400), answer.text
                    assert len(answer.text) < 50_000
