"""Finding out what an engine can. Flows.

An engine that lacks an operation does not know its name, and says so. The requests change nothing: those of an
operation name a table that does not exist, and cost no capacity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.flow import (
    CAPABILITIES,
    DECLARED,
    DYNAMODB,
    DYNAMODB_STREAMS,
    Capability,
    Consumed,
    Port,
    Request,
    Response,
    Service,
    TableNames,
    Traits,
    lacking,
)
from singletable.operations import NOTHING, TableCall, encode, in_account
from singletable.tables.admin import check_indexes, describe_indexes
from singletable.tables.definition import TableDefinition
from singletable.wire import read_fault

PROBE_TABLE: Final = "singletable-probe"
"""No table has this name."""
_CHECK = {
    "TableName": PROBE_TABLE,
    "Key": {"pk": {"S": "probe"}},
    "ConditionExpression": "attribute_exists(#pk)",
    "ExpressionAttributeNames": {"#pk": "pk"},
}
_SELECT = "SELECT * FROM \"singletable-probe\" WHERE pk = 'probe'"
_EXPIRY = {"Enabled": True, "AttributeName": "expires"}
_PROBES: Final[dict[Capability, tuple[Service, str, dict[str, Any]]]] = {
    "transactions": (DYNAMODB, "TransactWriteItems", {"TransactItems": [{"ConditionCheck": _CHECK}]}),
    "streams": (DYNAMODB_STREAMS, "ListStreams", {"Limit": 1}),
    "statements": (DYNAMODB, "ExecuteStatement", {"Statement": _SELECT}),
    "expiry": (DYNAMODB, "UpdateTimeToLive", {"TableName": PROBE_TABLE, "TimeToLiveSpecification": _EXPIRY}),
}
_CONFIGURATION = ".scylla.alternator.system.config"
_SETTING = "alternator_write_isolation"
_TAG = "system:write_isolation"
_ISOLATED = frozenset({"a", "always", "always_use_lwt"})


async def find_capabilities(port: Port, wanted: Sequence[Capability], table: TableDefinition | None) -> Traits:
    """The engine's traits, with what was still unknown of the wanted capabilities.

    A request for each that was unknown; two for `refused items`, which are tried on an item of the table, and stay
    unknown while it has none.
    """
    _check_names(wanted, table)
    lacks: set[Capability] = set()
    present: set[Capability] = set()
    for capability in dict.fromkeys(wanted):
        if capability not in port.traits.unknown or capability in ("isolated writes", "whole indexes"):
            continue
        there = await _returns_items(port, table) if capability == "refused items" else await _knows(port, capability)
        if there is not None:
            (present if there else lacks).add(capability)
    traits = port.traits
    return replace(traits, lacks=traits.lacks | lacks, unknown=traits.unknown - lacks - present)


async def check_capabilities(port: Port, wanted: Sequence[Capability], table: TableDefinition | None) -> None:
    """Raises NotSupported for the first wanted capability that is missing.

    `isolated writes` take a request at an engine of unknown kind, and two more where it is ScyllaDB; `whole indexes`
    take one, and raise NotConfigured.
    """
    for capability in wanted:
        port.traits.check(capability)
    if "isolated writes" in wanted and "isolated writes" in port.traits.unknown:
        assert table is not None
        await _check_isolation(port, table)
    if "whole indexes" in wanted:
        assert table is not None
        check_indexes(table, await describe_indexes(port, table))


def _check_names(wanted: Sequence[Capability], table: TableDefinition | None) -> None:
    for capability in wanted:
        if capability not in CAPABILITIES:
            raise InvalidRequest(
                f"{capability!r} is not a capability", hint=f"Use {', '.join(map(repr, CAPABILITIES))}."
            )
        if table is None and capability in ("refused items", "isolated writes", "whole indexes"):
            raise InvalidRequest(
                f"require({capability!r}) without a table", hint="Pass table=, which is where they are looked for."
            )


class _Probe(Struct, frozen=True):
    """A request whose answer only says whether the engine knows the operation."""

    operation: str
    body: dict[str, Any]

    def request(self, names: TableNames = DECLARED) -> Request:
        return Request(self.operation, encode(self.body), str(self.body.get("TableName", "")))

    def answer(self, response: Response) -> tuple[bool, Consumed]:
        fault = None if response.status == 200 else read_fault(response.body)
        return fault is None or fault.code != "UnknownOperationException", NOTHING


async def _knows(port: Port, capability: Capability) -> bool:
    service, operation, body = _PROBES[capability]
    there = port if service == DYNAMODB else port.to(service)
    return await there.send(_Probe(operation, body))


class _Refusal(Struct, frozen=True):
    """A delete that requires the item to be absent: it never deletes. Returns True if the refusal has the item."""

    body: dict[str, Any]

    def request(self, names: TableNames = DECLARED) -> Request:
        return Request("DeleteItem", encode(in_account(self.body, names)), str(self.body["TableName"]))

    def answer(self, response: Response) -> tuple[bool | None, Consumed]:
        if response.status == 200:  # another writer has deleted the item
            return None, NOTHING
        fault = read_fault(response.body)
        refused = fault is not None and fault.code == "ConditionalCheckFailedException"
        return (isinstance(fault.item, msgspec.Raw) if fault is not None and refused else None), NOTHING


async def _returns_items(port: Port, table: TableDefinition | None) -> bool | None:
    """Return None if the table has no item to test with."""
    assert table is not None
    names = {f"#{n}": name for n, name in enumerate(table.key)}
    body = {
        "TableName": table.name,
        "Limit": 1,
        "ProjectionExpression": ", ".join(names),
        "ExpressionAttributeNames": names,
    }
    page = await port.send(TableCall("Scan", body))
    items = (page or {}).get("Items")
    if not items:
        return None
    refusal = {
        "TableName": table.name,
        "Key": items[0],
        "ConditionExpression": "attribute_not_exists(#0)",
        "ExpressionAttributeNames": {"#0": table.key[0]},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return await port.send(_Refusal(refusal))


async def _check_isolation(port: Port, table: TableDefinition) -> None:
    """Raises NotSupported for a table of ScyllaDB whose writes don't all use lightweight transactions."""
    default = await _scylla_setting(port)
    if default is None:
        return
    described = await port.send(TableCall("DescribeTable", {"TableName": table.name}))
    assert described is not None
    tags = await port.send(TableCall("ListTagsOfResource", {"ResourceArn": described["Table"]["TableArn"]}))
    own = next((tag["Value"] for tag in (tags or {}).get("Tags", ()) if tag["Key"] == _TAG), "")
    mode = own or default
    if mode not in _ISOLATED:
        where = f"the table's tag {_TAG}" if own else f"{_SETTING} of the server"
        raise lacking("isolated writes", why=f"{where} is {mode or 'not set'}", table=table.name)


async def _scylla_setting(port: Port) -> str | None:
    """The default isolation of a ScyllaDB; None for another engine, which has no such table."""
    body = {
        "TableName": _CONFIGURATION,
        "KeyConditionExpression": "#name = :setting",
        "ExpressionAttributeNames": {"#name": "name"},
        "ExpressionAttributeValues": {":setting": {"S": _SETTING}},
    }
    return await port.send(_Setting(body))


class _Setting(Struct, frozen=True):
    body: dict[str, Any]

    def request(self, names: TableNames = DECLARED) -> Request:
        return Request("Query", encode(self.body), _CONFIGURATION)

    def answer(self, response: Response) -> tuple[str | None, Consumed]:
        if response.status != 200:
            return None, NOTHING
        items = msgspec.json.decode(response.body).get("Items", [])
        return (str(items[0].get("value", {}).get("S", "")).strip('"') if items else ""), NOTHING
