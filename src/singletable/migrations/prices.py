"""The prices of units, by region: a table with its date, in the package or of your own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec
from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.tables import Billing, Provisioned


class OnDemandPrice(Struct, frozen=True):
    """Dollars for a unit."""

    read_unit: float
    write_unit: float


class ProvisionedPrice(Struct, frozen=True):
    """Dollars for a unit a second, for an hour."""

    read_unit_hour: float
    write_unit_hour: float


class Prices(Struct, frozen=True):
    """The prices of one region, in dollars."""

    region: str
    as_of: str
    on_demand: OnDemandPrice
    provisioned: ProvisionedPrice

    def of(self, read_units: float, write_units: float, billing: Billing) -> float:
        """The price of units. Provisioned capacity is paid by the hour, in which one unit a second is 3,600 units."""
        if isinstance(billing, Provisioned):
            each = self.provisioned
            return (read_units * each.read_unit_hour + write_units * each.write_unit_hour) / 3600
        return read_units * self.on_demand.read_unit + write_units * self.on_demand.write_unit


class _Region(Struct, frozen=True):
    on_demand: OnDemandPrice
    provisioned: ProvisionedPrice


class _PriceTable(Struct, frozen=True):
    as_of: str
    source: str
    regions: Mapping[str, _Region]


def prices_of(region: str) -> Prices | None:
    """A region's prices from the table in the package; None if it has none."""
    return _find(_own(), region)


def read_prices(path: Path, region: str) -> Prices:
    """A region's prices from a table of your own. InvalidRequest for a file that is none, or lacks the region."""
    try:
        table = msgspec.json.decode(path.read_bytes(), type=_PriceTable)
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidRequest(
            f"{path} is not a table of prices: {error}",
            hint="Its form is that of migrations/prices.json in the package.",
        ) from error
    found = _find(table, region)
    if found is None:
        raise InvalidRequest(f"{path} has no prices of {region}; it has {', '.join(sorted(table.regions))}")
    return found


def _find(table: _PriceTable, region: str) -> Prices | None:
    there = table.regions.get(region)
    return None if there is None else Prices(region, table.as_of, there.on_demand, there.provisioned)


@cache
def _own() -> _PriceTable:
    text = files("singletable.migrations").joinpath("prices.json").read_bytes()
    return msgspec.json.decode(text, type=_PriceTable)
