"""Values whose types have no order, or a codec of the application's, on the pages of items and in their forms."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Annotated, Any

from singletable import Entity, Key, Table, field
from singletable.values import StoredAs
from tests.studio.test_items import form_of
from tests.studio.visitor import visiting
from tests.support.engines import fresh_async

parts = Table("shop")
Share = Annotated[Fraction, StoredAs(str, str, Fraction)]
KEY = "pk=part&sk=a"


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Part(Entity, table=parts, type="part"):
    id: str
    colours: set[Colour] = field(default_factory=set[Colour])
    share: Share = Fraction(1)
    shares: set[Share] = field(default_factory=set[Share])
    free: Any = None

    @parts.key
    @staticmethod
    def of(id: str) -> Key:
        """One part."""
        return "part", f"{id}"


async def test_such_an_item_is_shown_and_edited() -> None:
    async with fresh_async() as db:
        await db.create_table(parts)
        await db.create(Part(id="a", colours={Colour.RED, Colour.BLUE}, shares={Fraction(1), Fraction(2)}))
        async with visiting(db, parts, write=True) as visitor:
            for path in (f"/item/shop?{KEY}", "/partition/shop?pk=part"):
                page = await visitor.page(path)
                assert "blue" in page
            form = await form_of(visitor, KEY, share='"1/3"', shares='["1/3", "2"]', colours='["red", "blue"]')
            assert form["value.free"] == "null"
            page = (await visitor.send(f"/item/shop/edit?{KEY}", form)).text
            assert "1/3" in page
            assert "problem" not in page
            answer = await visitor.send(f"/item/shop/edit?{KEY}", form | {"confirmed": "1"})
            assert answer.status_code == 303, answer.text
        part = await db.get(Part.of("a"))
        assert part is not None
        assert (part.share, part.shares, part.free) == (Fraction(1, 3), {Fraction(1, 3), Fraction(2)}, None)
        assert part.colours == {Colour.RED, Colour.BLUE}


async def test_a_conflict_shows_them_as_they_are_stored() -> None:
    async with fresh_async() as db:
        await db.create_table(parts)
        await db.create(Part(id="a"))
        async with visiting(db, parts, write=True) as visitor:
            form = await form_of(visitor, KEY, shares='["1/3", "2/3"]')
            await db.put(Part(id="a", share=Fraction(1, 7)))
            answer = await visitor.send(f"/item/shop/edit?{KEY}", form)
            assert answer.status_code == 409
            assert all(share in answer.text for share in ("1/7", "1/3", "2/3"))
