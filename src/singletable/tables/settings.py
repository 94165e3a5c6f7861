"""Settings of a table beyond its keys, indexes, stream and expiry. None is undeclared: it is left unchanged.

Table("shop", settings=TableSettings(point_in_time_recovery=True, tags={"team": "shop"}))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from singletable.errors import DeclarationError

TableClass = Literal["standard", "infrequent_access"]
TABLE_CLASSES: Final[Mapping[TableClass, str]] = {
    "standard": "STANDARD",
    "infrequent_access": "STANDARD_INFREQUENT_ACCESS",
}
MAX_TAGS = 50


class Provisioned(Struct, frozen=True):
    """Capacity that is paid for by the hour, used or not. Every index gets the same."""

    read_units: int
    write_units: int

    def __str__(self) -> str:
        return f"provisioned, {self.read_units} read units and {self.write_units} write units a second"

    @property
    def throughput(self) -> dict[str, int]:
        """The throughput in a request."""
        return {"ReadCapacityUnits": self.read_units, "WriteCapacityUnits": self.write_units}


Billing = Literal["on_demand"] | Provisioned


class TableSettings(Struct, frozen=True):
    """The declared settings of a table. `singletable apply` brings a live table to them."""

    point_in_time_recovery: bool | None = None
    billing: Billing | None = None
    """A new table is on demand where nothing is declared."""
    table_class: TableClass | None = None
    tags: Mapping[str, str] = {}
    """Other tags of the table stay."""

    def check(self, table: str) -> None:
        """DeclarationError for a setting that DynamoDB doesn't have."""
        if self.table_class is not None and self.table_class not in TABLE_CLASSES:
            raise DeclarationError(
                f"{self.table_class!r} is not a table class",
                table=table,
                hint=f"Pass one of {', '.join(map(repr, TABLE_CLASSES))}.",
            )
        if isinstance(self.billing, Provisioned):
            if min(self.billing.read_units, self.billing.write_units) < 1:
                raise DeclarationError("provisioned capacity is at least one unit of each", table=table)
        elif self.billing not in (None, "on_demand"):
            raise DeclarationError(
                f"{self.billing!r} is not a billing mode",
                table=table,
                hint='Pass "on_demand", or Provisioned(read_units=..., write_units=...).',
            )
        if len(self.tags) > MAX_TAGS or not all(self.tags):
            raise DeclarationError(f"a table has up to {MAX_TAGS} tags, each with a name", table=table)

    def creation(self) -> dict[str, Any]:
        """Their part of CreateTable. Recovery is a request of its own."""
        body = billing_request(self.billing or "on_demand", ())
        if self.table_class is not None:
            body["TableClass"] = TABLE_CLASSES[self.table_class]
        if self.tags:
            body["Tags"] = tag_list(self.tags)
        return body


def billing_request(billing: Billing, indexes: tuple[str, ...]) -> dict[str, Any]:
    """The part of CreateTable or UpdateTable that says how a table is paid for; of existing indexes, each its own."""
    if not isinstance(billing, Provisioned):
        return {"BillingMode": "PAY_PER_REQUEST"}
    body: dict[str, Any] = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": billing.throughput}
    if indexes:
        updates = [{"Update": {"IndexName": n, "ProvisionedThroughput": billing.throughput}} for n in indexes]
        body["GlobalSecondaryIndexUpdates"] = updates
    return body


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Tags as a request takes them."""
    return [{"Key": name, "Value": tags[name]} for name in sorted(tags)]
