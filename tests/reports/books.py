"""Bills with numbers of any size, whose payers are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from singletable import ANY, Entity, Key, Table, field

books = Table("books")
TENTHS = [Decimal(10) / n for n in (1, 2, 3, 4)]
WEI = [n * 5 * 10**18 for n in (1, 2, 3, 4)]


@dataclass(frozen=True)
class Tax:
    rate: Decimal


class Payer(Entity, table=books, type="payer"):
    number: int
    name: str = field(default="", personal=True)

    @books.key
    @staticmethod
    def by_number(number: int) -> Key:
        return f"payer#{number}", "payer"


class Bill(Entity, table=books, type="bill"):
    id: str
    share: Decimal = Decimal(0)
    wei: int = 0
    odd: Decimal | None = field(default=None, name="a/b~'c.N")
    parts: list[Decimal] = field(default_factory=list[Decimal])
    tax: Tax | None = None
    payer: int = field(default=0, belongs_to=Payer.number)

    @books.key
    @staticmethod
    def by_id(id: str = ANY) -> Key:
        return "bill", f"bill#{id}"


def bills(shares: Sequence[Decimal] = (), wei: Sequence[int] = ()) -> list[Bill]:
    count = max(len(shares), len(wei))
    return [
        Bill(id=f"{n:03}", share=([*shares] + [Decimal(0)] * count)[n], wei=([*wei] + [0] * count)[n])
        for n in range(count)
    ]


class Cheque(Entity, table=books, type="cheque", version=2):
    id: str
    amount: Decimal = field(personal=True)

    @books.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"cheque#{id}", "cheque"


@Cheque.upcast(1)
def _amount(item: dict[str, Any]) -> dict[str, Any]:
    return {**{name: value for name, value in item.items() if name != "sum"}, "amount": item["sum"]}
