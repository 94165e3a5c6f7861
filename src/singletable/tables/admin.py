"""Creating a table, looking at it, and telling how it differs from its definition. Flows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from singletable.errors import NotConfigured, SingletableError, Unavailable
from singletable.flow import Port, pause
from singletable.operations import RAW, Scan, Selection, TableCall
from singletable.tables.definition import STREAM_VIEWS, TableDefinition

_POLL_SECONDS = 1.0
_TIMEOUT_SECONDS = 600.0
_EXPIRY = "TTL attribute"


class Difference(Struct, frozen=True):
    """One thing that is not as declared."""

    what: str
    declared: str
    found: str

    @property
    def is_of_a_key(self) -> bool:
        """True for a difference in a key of the table or an index: a key can't be changed after creation."""
        return self.what == "key" or (self.is_of_an_index and self.what.endswith(" key"))

    @property
    def is_of_an_index(self) -> bool:
        """Whether it is about an index, global or local."""
        return self.what.startswith(("index ", "local index "))

    @property
    def is_fixed(self) -> bool:
        """Whether only a new table could be as declared: of the key, and of a declared local index."""
        return self.what == "key" or (self.what.startswith("local index ") and self.declared != "absent")

    @property
    def is_of_less(self) -> bool:
        """Whether an index holds less than declared: what it lacks, a read of it takes for absent."""
        declared, found = {*self.declared.split()}, {*self.found.split()}
        return self.what.endswith(" projection") and "ALL" not in found and not declared - {"INCLUDE"} <= found

    @property
    def is_of_expiry(self) -> bool:
        """Whether it is about the attribute of expiry."""
        return self.what == _EXPIRY

    def __str__(self) -> str:
        return f"{self.what}: declared {self.declared}, found {self.found}"


class Description(Struct, frozen=True):
    """A table as the service describes it."""

    name: str
    status: str
    items: int
    """The service's last count, up to six hours old on AWS."""
    bytes: int
    raw: Mapping[str, Any]
    ttl: str | None = None
    knows_expiry: bool = True
    """Whether the engine has TTL at all."""
    knows_encryption: bool = True
    """Whether a table of the engine has an encryption key at all."""

    @property
    def has_stream(self) -> bool:
        """Whether its stream is on."""
        return bool(self.raw.get("StreamSpecification", {}).get("StreamEnabled"))

    @property
    def indexes(self) -> Mapping[str, Mapping[str, Any]]:
        """Its indexes by name, as the service describes them."""
        return {i["IndexName"]: i for i in self.raw.get("GlobalSecondaryIndexes", ())} | self.local_indexes

    @property
    def local_indexes(self) -> dict[str, Mapping[str, Any]]:
        """Those of them that were made with the table."""
        return {i["IndexName"]: i for i in self.raw.get("LocalSecondaryIndexes", ())}


async def create(port: Port, table: TableDefinition) -> Description:
    """Create a table and wait until it can be used. Completes an interrupted create. Raises NotConfigured if a table of
    that name exists and differs."""
    if (found := await describe(port, table)) is not None:
        return await _completed(port, table, found)
    await port.send(TableCall("CreateTable", table.creation(), or_none="ResourceInUseException"))
    return await _set_up(port, table)


async def _set_up(port: Port, table: TableDefinition) -> Description:
    """Set what CreateTable can't. The expiry comes last: a table that has it was set up completely."""
    await wait_until_active(port, table)
    if table.settings.point_in_time_recovery:
        await set_recovery(port, table.name, enabled=True)
    if table.ttl_attribute is not None:
        await set_ttl(port, table)
    created = await describe(port, table)
    assert created is not None
    return created


async def describe(port: Port, table: TableDefinition) -> Description | None:
    """The table's current description; None if it does not exist. Two requests for an existing table."""
    call = TableCall("DescribeTable", {"TableName": table.name}, or_none="ResourceNotFoundException")
    answer = await port.send(call)
    if answer is None:
        return None
    raw = answer["Table"]
    ttl = await _describe_ttl(port, table)
    expiry = (ttl or {}).get("TimeToLiveDescription", {})
    return Description(
        table.name,
        raw.get("TableStatus", ""),
        raw.get("ItemCount", 0),
        raw.get("TableSizeBytes", 0),
        raw,
        expiry.get("AttributeName") if str(expiry.get("TimeToLiveStatus", "")).startswith("ENABL") else None,
        ttl is not None,
        port.traits.encryption_keys,
    )


async def describe_indexes(port: Port, table: TableDefinition) -> Description | None:
    """The description without its TTL. One request."""
    call = TableCall("DescribeTable", {"TableName": table.name}, or_none="ResourceNotFoundException")
    answer = await port.send(call)
    return None if answer is None else Description(table.name, "", 0, 0, answer["Table"])


def table_identity(raw: Mapping[str, Any]) -> str:
    """A text in a described table that one of the same name, made later, does not have."""
    return str(raw.get("TableId") or raw.get("CreationDateTime", ""))


def smaller_indexes(table: TableDefinition, live: Description | None) -> list[Difference]:
    """The indexes that hold less than declared."""
    return [] if live is None else [each for each in differences(table, live) if each.is_of_less]


def check_indexes(table: TableDefinition, live: Description | None) -> None:
    """Raises NotConfigured if an index holds less than declared: what it lacks would be read as its default, and the
    next put would write that over the item."""
    if smaller := smaller_indexes(table, live):
        has_local = any(each.is_fixed for each in smaller)
        rebuild = "A local one can't be rebuilt: " if has_local else "`singletable apply MODULE` rebuilds it; or "
        raise NotConfigured(
            "an index of the table holds less than declared: " + "; ".join(map(str, smaller)),
            table=table.name,
            hint=f"{rebuild}declare what the index has: {'Local' if has_local else 'Index'}(..., projection=...).",
        )


async def _describe_ttl(port: Port, table: TableDefinition) -> dict[str, Any] | None:
    """The table's TTL; None on an engine without TTL."""
    if "expiry" in port.traits.lacks:
        return None
    return await port.send(TableCall("DescribeTimeToLive", {"TableName": table.name}, "UnknownOperationException"))


async def add_index(port: Port, table: TableDefinition, name: str) -> None:
    """Add one declared index to a table and wait until it is filled. One that is there already is as good: the answer
    was lost, and the request was repeated."""
    body = {
        "TableName": table.name,
        "AttributeDefinitions": table.attribute_definitions(name),
        "GlobalSecondaryIndexUpdates": [{"Create": table.index_creation(name)}],
    }
    try:
        await port.send(TableCall("UpdateTable", body))
    except SingletableError:
        described = await describe_indexes(port, table)
        if described is None or name not in described.indexes:
            raise
    await wait_until_active(port, table)


async def set_ttl(port: Port, table: TableDefinition) -> None:
    """Set the attribute of expiry. Does nothing on an engine without TTL: reads leave expired items out, and
    `sweep_table` deletes them."""
    if "expiry" in port.traits.lacks:
        return
    setting = {"Enabled": True, "AttributeName": table.ttl_attribute}
    body = {"TableName": table.name, "TimeToLiveSpecification": setting}
    await port.send(TableCall("UpdateTimeToLive", body, or_none="UnknownOperationException"))


async def set_recovery(port: Port, table: str, *, enabled: bool) -> bool:
    """Switch a table's point-in-time recovery; False on an engine without it."""
    body = {"TableName": table, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": enabled}}
    return await port.send(TableCall("UpdateContinuousBackups", body, or_none="UnknownOperationException")) is not None


async def set_stream(port: Port, table: TableDefinition) -> None:
    """Switch the declared stream on, if the table has none."""
    setting = {"StreamEnabled": True, "StreamViewType": STREAM_VIEWS[table.stream or "new_and_old"]}
    await port.send(TableCall("UpdateTable", {"TableName": table.name, "StreamSpecification": setting}))
    await wait_until_active(port, table)


async def delete(port: Port, table: TableDefinition) -> bool:
    """Delete the table and all its items; False if it does not exist."""
    call = TableCall("DeleteTable", {"TableName": table.name}, or_none="ResourceNotFoundException")
    return await port.send(call) is not None


async def wait_until_active(port: Port, table: TableDefinition) -> None:
    """Until the table and its indexes can be used; Unavailable after ten minutes."""
    deadline = port.monotonic() + _TIMEOUT_SECONDS
    while True:
        found = await port.send(TableCall("DescribeTable", {"TableName": table.name}, "ResourceNotFoundException"))
        parts = [found["Table"], *found["Table"].get("GlobalSecondaryIndexes", ())] if found else []
        if parts and all((p.get("TableStatus") or p.get("IndexStatus", "ACTIVE")) == "ACTIVE" for p in parts):
            return
        if port.monotonic() > deadline:
            raise Unavailable(
                "the table is not active after ten minutes", table=table.name, hint="Look at it again later."
            )
        await pause(port, _POLL_SECONDS, "the table is not active yet", table.name)


def differences(table: TableDefinition, live: Description) -> Iterator[Difference]:
    """Differences from the declaration. Undeclared settings are ignored."""
    raw = live.raw
    kinds = {each["AttributeName"]: each["AttributeType"] for each in raw.get("AttributeDefinitions", ())}
    yield from _compare("key", _key_names(table.key, table.kinds), _schema(raw.get("KeySchema", ()), kinds))
    local, indexes = live.local_indexes, live.indexes
    for name, index in table.indexes.items():
        what = f"local index {name}" if index.is_local or name in local else f"index {name}"
        if name not in indexes:
            yield Difference(what, "present", "missing")
            continue
        there = indexes[name]
        yield from _compare(f"{what} kind", _kind(index.is_local), _kind(name in local))
        keys = _key_names((index.partition, index.sort), table.kinds)
        yield from _compare(f"{what} key", keys, _schema(there.get("KeySchema", ()), kinds))
        declared, projected = table.projection(index), there.get("Projection", {})
        yield from _compare(f"{what} projection", _projection(declared), _projection(projected))
    for name in indexes.keys() - table.indexes.keys():
        yield Difference(f"local index {name}" if name in local else f"index {name}", "absent", "present")
    stream = raw.get("StreamSpecification", {})
    view = stream.get("StreamViewType", "on") if stream.get("StreamEnabled") else "off"
    yield from _compare("stream", STREAM_VIEWS[table.stream] if table.stream else "off", view)
    yield from _compare(_EXPIRY, table.ttl_attribute or "none", live.ttl or "none")
    if table.deletion_protection is not None:
        protected = raw.get("DeletionProtectionEnabled", False)
        yield from _compare("deletion protection", _on(table.deletion_protection), _on(protected))
    key = raw.get("SSEDescription", {}).get("KMSMasterKeyArn", "")
    if table.encryption_key is not None and live.knows_encryption and not table.is_encrypted_by(key):
        yield Difference("encryption key", table.encryption_key, key or "owned by AWS")


async def _completed(port: Port, table: TableDefinition, live: Description) -> Description:
    """A table that is there, and as declared. One without items that lacks only the attribute of expiry was not set up
    completely."""
    if live.status == "CREATING":
        await wait_until_active(port, table)
        live = await describe(port, table) or live
    wrong = [d for d in differences(table, live) if live.knows_expiry or not d.is_of_expiry]
    if len(wrong) == 1 and wrong[0].is_of_expiry and live.ttl is None and await is_empty(port, table):
        return await _set_up(port, table)
    if wrong:
        raise NotConfigured(
            "the table is there and differs: " + "; ".join(map(str, wrong)),
            table=table.name,
            hint="Declare what the table has, or change it by hand; `singletable table diff` shows the same list.",
        )
    return live


async def is_empty(port: Port, table: TableDefinition) -> bool:
    """Read one item to see if the table is empty: the count in a description may be six hours old."""
    return not (await port.send(Scan(table.name, Selection(limit=1, consistent=True), RAW))).items


def _compare(what: str, declared: str, live: str) -> Iterator[Difference]:
    if declared != live:
        yield Difference(what, declared, live)


def _key_names(names: Iterable[str], kinds: Mapping[str, str]) -> str:
    """The attributes of a key, each that holds no texts with its type: `device + at (N)`."""
    shown = {"S": ""}
    return " + ".join(name + shown.get(kind := kinds.get(name, "S"), f" ({kind})") for name in names if name)


def _schema(schema: Any, kinds: Mapping[str, str]) -> str:
    return _key_names((k["AttributeName"] for k in sorted(schema, key=lambda k: str(k["KeyType"]))), kinds)


def _projection(projection: Mapping[str, Any]) -> str:
    return " ".join([projection.get("ProjectionType", ""), *sorted(projection.get("NonKeyAttributes") or ())])


def _kind(is_local: bool) -> str:
    return "local" if is_local else "global"


def _on(setting: bool) -> str:
    return "on" if setting else "off"
