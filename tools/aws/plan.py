"""What a run will use, and where it stops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.aws.account import Account
from tools.aws.counting import Count, Prices, prices_of, total
from tools.aws.prediction import Like, Measure, is_like, predict

_HEADROOM = 1.5
_LEAST_UNITS, _LEAST_MONEY = 100.0, 0.01
"""No cap is lower unless it is given: a few queues use no unit at all."""


@dataclass(frozen=True)
class Wanted:
    """What the command line says."""

    only: tuple[str, ...] = ()
    cap: float | None = None
    cap_money: float | None = None
    yes: bool = False
    record: Path | None = None


@dataclass(frozen=True)
class Plan:
    """What a run will use, and where it stops."""

    like: Like
    files: list[str]
    by_file: Mapping[str, Count]
    """What each test file will use."""
    prices: Prices
    cap: float
    cap_money: float

    @property
    def predicted(self) -> Count:
        return total(self.by_file.values())

    def is_over(self, spent: Count) -> str:
        """Why nothing more may be sent; empty while it may."""
        if spent.units >= self.cap:
            return f"the cap of {self.cap:,.0f} units is reached; --cap UNITS sets another"
        if self.prices.money(spent) >= self.cap_money:
            return f"the cap of ${self.cap_money:,.4f} is reached; --cap-money DOLLARS sets another"
        return ""


def make_plan(account: Account, files: list[str], wanted: Wanted, measure: Measure) -> Plan:
    """`measure` counts what has changed since it was counted."""
    like = is_like(account.endpoint)
    by_file = predict(like, files, measure)
    predicted = total(by_file.values())
    prices = prices_of(account.region)
    cap = max(predicted.units * _HEADROOM, _LEAST_UNITS) if wanted.cap is None else wanted.cap
    money = max(prices.money(predicted) * _HEADROOM, _LEAST_MONEY) if wanted.cap_money is None else wanted.cap_money
    return Plan(like, files, by_file, prices, cap, money)
