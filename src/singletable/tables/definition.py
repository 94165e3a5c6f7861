"""The definition of a table: its names, keys, indexes and settings. A plain value; it creates nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from msgspec import Struct

from singletable.errors import DeclarationError
from singletable.operations import CONTEXT_ATTRIBUTE
from singletable.tables.settings import Provisioned, TableSettings
from singletable.values import lone_text

_NAME = r"[a-zA-Z0-9_.-]{3,255}"
_ENCRYPTION_KEY = r"(?a)(?:arn:[\w-]+:kms:[\w-]+:\d{12}:key/)?[\w-]+"
MAX_INDEXES = 20
"""The global indexes of a table."""
MAX_LOCAL_INDEXES = 5
MAX_PROJECTED = 100
"""Attributes that all indexes together hold by name, the type and schema version of each among them."""
MAX_PROJECTED_OF_INDEX = 20
MAX_ATTRIBUTE_BYTES = 255
"""The limit for the name of a key attribute, or of one that an index holds by name."""

KeyKind = Literal["S", "N", "B"]
"""The type of a key attribute: texts, numbers or bytes."""
StreamView = Literal["keys", "new", "old", "new_and_old"]
STREAM_VIEWS: Mapping[StreamView, str] = {
    "keys": "KEYS_ONLY",
    "new": "NEW_IMAGE",
    "old": "OLD_IMAGE",
    "new_and_old": "NEW_AND_OLD_IMAGES",
}


class N(str):
    """The name of a key attribute that holds numbers: `Table(..., key=("device", N("at")))`."""

    __slots__ = ()
    kind: ClassVar[KeyKind] = "N"


class B(str):
    """The name of a key attribute that holds bytes: `Table(..., key=B("digest"))`."""

    __slots__ = ()
    kind: ClassVar[KeyKind] = "B"


Projection = Literal["all", "keys"] | tuple[str, ...]


class Index(Struct, frozen=True):
    """A global secondary index: the attributes of its key, `sort` being optional, and what it holds of each item.

    `projection` is "all", "keys", or the stored names of more attributes to hold. The keys, the type and the schema
    version are always held, so that an item read from an index can be decoded; in a foreign table the keys alone.
    """

    partition: str
    sort: str = ""
    projection: Projection = "all"
    is_local: bool = False
    """Whether it was declared as a `Local`."""


class Local(Struct, frozen=True):
    """A local secondary index: the partition key of the table, with another sort attribute; `projection` as of `Index`.

    It is made with its table alone, and goes with it. Its queries may be consistent. All items of a partition, with
    their entries in local indexes, have 10 GB at most: a write beyond is TooLarge.
    """

    sort: str
    projection: Projection = "all"


class TableDefinition(Struct, frozen=True, eq=False, dict=True):
    """The definition of a table, as DynamoDB needs it. None or an empty value is undeclared, and changes nothing."""

    name: str
    key: tuple[str, str] = ("pk", "sk")
    indexes: Mapping[str, Index] = MappingProxyType({})
    type_attribute: str = "_type"
    version_attribute: str = "_v"
    write_id_attribute: str = "_w"
    ttl_attribute: str | None = None
    stream: StreamView | None = None
    deletion_protection: bool | None = None
    encryption_key: str | None = None
    """A KMS key's id or ARN; None for the key that AWS owns, which costs nothing. Data is encrypted at rest always.

    Not an alias: DynamoDB returns the ARN of a table's key, so the alias could not be verified.
    """
    settings: TableSettings = TableSettings()
    foreign: bool = False
    """Whether another program's items are in it: without type, version and write id, unless attributes are named."""
    kinds: Mapping[str, KeyKind] = MappingProxyType({})
    """The key attributes that hold numbers or bytes. All others hold texts."""

    def __post_init__(self) -> None:
        if not re.fullmatch(_NAME, self.name):
            raise DeclarationError(
                f"{self.name!r} is not a valid table name",
                hint="A table's name has 3 to 255 of letters, digits, '_', '-' and '.'.",
            )
        for name in self.indexes:
            if not re.fullmatch(_NAME, name):
                raise DeclarationError(f"{name!r} is not a valid index name", table=self.name)
        of_kinds = (("", self.global_indexes, MAX_INDEXES), ("local ", self.local_indexes, MAX_LOCAL_INDEXES))
        for kind, indexes, most in of_kinds:
            if len(indexes) > most:
                raise DeclarationError(f"{len(indexes)} {kind}indexes; DynamoDB allows {most}", table=self.name)
        self._check_local()
        if self.stream is not None and self.stream not in STREAM_VIEWS:
            raise DeclarationError(
                f"{self.stream!r} is not a stream view",
                table=self.name,
                hint=f"Pass one of {', '.join(map(repr, STREAM_VIEWS))}.",
            )
        if self.encryption_key is not None and not re.fullmatch(_ENCRYPTION_KEY, self.encryption_key):
            raise DeclarationError(
                f"{self.encryption_key!r} is not the id or ARN of an encryption key",
                table=self.name,
                hint="For an alias, aws kms describe-key --key-id alias/NAME prints both.",
            )
        self.settings.check(self.name)
        names = self.reserved if self.ttl_attribute is None else [*self.reserved, self.ttl_attribute]
        self._check_held([*names, self.key[0], *(index.partition for index in self.indexes.values())])
        twice = {n for n in names if names.count(n) > 1}
        twice |= {index.partition for index in self.indexes.values() if index.partition == index.sort}
        if twice:
            raise DeclarationError(
                f"the attribute {min(twice)!r} has two uses", table=self.name, hint="Name each apart."
            )

    def is_encrypted_by(self, arn: str) -> bool:
        """Whether a table's key, by its ARN, is the declared one."""
        return self.encryption_key in (arn, arn.rpartition("/")[2])

    def _check_local(self) -> None:
        """DeclarationError for a local index that has not the table's partition key, with another sort attribute."""
        for name, index in self.local_indexes.items():
            if not self.key[1]:
                raise DeclarationError(
                    f"{name} is a local index, and the table has no sort key",
                    table=self.name,
                    hint="Declare a global one, Index(...), or a table whose key has two attributes.",
                )
            if index.partition != self.key[0] or not index.sort or index.sort in self.key:
                raise DeclarationError(
                    f"{name} is a local index of {index.partition} and {index.sort or 'nothing'}",
                    table=self.name,
                    hint=f"Name an attribute that is not in the table's key, Local(...): its partitions are those of "
                    f"{self.key[0]}.",
                )

    def _check_held(self, names: list[str]) -> None:
        """DeclarationError for more attributes than indexes hold by name, and for names that DynamoDB does not take."""
        held = [self.projection(index).get("NonKeyAttributes", []) for index in self.indexes.values()]
        most = max(map(len, held), default=0)
        if most > MAX_PROJECTED_OF_INDEX or sum(map(len, held)) > MAX_PROJECTED:
            raise DeclarationError(
                f"an index holds {MAX_PROJECTED_OF_INDEX} attributes by name, all of a table {MAX_PROJECTED}; type and "
                "schema version are among them",
                table=self.name,
                hint='Let the index project "all".',
            )
        for name in (*names, *(name for some in held for name in some)):
            if not 0 < len(name.encode("utf-8", "surrogatepass")) <= MAX_ATTRIBUTE_BYTES:
                raise DeclarationError(
                    f"an attribute of a key, of expiry, or that an index holds, has a name of 1 to "
                    f"{MAX_ATTRIBUTE_BYTES} bytes",
                    table=self.name,
                )

    @property
    def context_attribute(self) -> str:
        """The name of the attribute for the context of a trace; "" in a foreign table, whose classes may have it."""
        return "" if self.foreign else CONTEXT_ATTRIBUTE

    @property
    def reserved(self) -> list[str]:
        """The stored names that belong to the table, not to an entity."""
        own = (self.type_attribute, self.version_attribute, self.write_id_attribute, self.context_attribute)
        parts = [name for index in self.indexes.values() for name in (index.partition, index.sort)]
        # An index may be keyed by an attribute of the table's own key, as an adjacency list is by its target.
        keys = [name for name in dict.fromkeys(parts) if name not in self.key]  # which two indexes may share
        return [name for name in (*self.key, *own, *keys) if name]

    @property
    def global_indexes(self) -> dict[str, Index]:
        """The indexes that can be made and deleted while the table is there."""
        return {name: index for name, index in self.indexes.items() if not index.is_local}

    @property
    def local_indexes(self) -> dict[str, Index]:
        """The indexes that are made with the table."""
        return {name: index for name, index in self.indexes.items() if index.is_local}

    def may_be_consistent(self, index: str | None) -> bool:
        """Whether a read may be consistent: of the table itself, or of a local index."""
        return index is None or self.indexes[index].is_local

    def index_keys(self, index: str | None) -> tuple[str, str]:
        """The attributes of the key of an index, or of the table itself."""
        if index is None:
            return self.key
        return self.indexes[index].partition, self.indexes[index].sort

    def creation(self) -> dict[str, Any]:
        """The body of CreateTable."""
        body: dict[str, Any] = {
            "TableName": self.name,
            **self.settings.creation(),
            "AttributeDefinitions": self.attribute_definitions(*self.indexes),
            "KeySchema": key_schema(self.key),
            "DeletionProtectionEnabled": bool(self.deletion_protection),
        }
        kinds = (("GlobalSecondaryIndexes", self.global_indexes), ("LocalSecondaryIndexes", self.local_indexes))
        body |= {kind: [self.index_creation(name) for name in indexes] for kind, indexes in kinds if indexes}
        if self.stream is not None:
            body["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": STREAM_VIEWS[self.stream]}
        if self.encryption_key is not None:
            body["SSESpecification"] = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": self.encryption_key}
        return body

    def attribute_definitions(self, *indexes: str) -> list[dict[str, str]]:
        """The types of the key attributes of the table and of some of its indexes."""
        names = dict.fromkeys((*self.key, *(name for index in indexes for name in self.index_keys(index))))
        return [{"AttributeName": name, "AttributeType": self.kinds.get(name, "S")} for name in names if name]

    def key_at(self, partition: str, sort: str) -> dict[str, dict[str, Any]]:
        """The key attributes of an item, by their two texts: of numbers the digits, of bytes their base64."""
        texts = zip(self.key, (partition, sort), strict=True)
        return {name: {self.kinds.get(name, "S"): text} for name, text in texts if name}

    @cached_property
    def has_text_keys(self) -> bool:
        """Whether the key is of two texts, as that of a table of one's own."""
        return bool(self.key[1]) and not self.kinds.keys() & {*self.key}

    def keys_at(self, places: Iterable[tuple[str, str]]) -> list[dict[str, dict[str, Any]]]:
        """The key attributes of many items."""
        if not self.has_text_keys:
            return [self.key_at(*place) for place in places]
        partition, sort = self.key
        return [{partition: {"S": one}, sort: {"S": other}} for one, other in places]

    def place_in(self, item: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
        """The two texts of an item's key, as `key_at` takes them: the same for each form of a number, and of bytes."""
        partition, sort = (lone_text(*next(iter(item[name].items()))) if name else "" for name in self.key)
        return partition, sort

    def index_creation(self, name: str) -> dict[str, Any]:
        """The part of a request that makes one index."""
        index = self.indexes[name]
        creation: dict[str, Any] = {
            "IndexName": name,
            "KeySchema": key_schema((index.partition, index.sort)),
            "Projection": self.projection(index),
        }
        if isinstance(self.settings.billing, Provisioned) and not index.is_local:
            creation["ProvisionedThroughput"] = self.settings.billing.throughput
        return creation

    def held_by(self, index: str) -> frozenset[str] | None:
        """The attributes that an index holds, its key's and the table's among them; None for all."""
        held = self.projection(self.indexes[index])
        if held["ProjectionType"] == "ALL":
            return None
        return frozenset((*self.key, *self.index_keys(index), *held.get("NonKeyAttributes", ()))) - {""}

    def projection(self, index: Index) -> dict[str, Any]:
        if index.projection == "all":
            return {"ProjectionType": "ALL"}
        wanted = [] if self.foreign else [self.type_attribute, self.version_attribute]
        wanted += [] if index.projection == "keys" else index.projection
        if not wanted:
            return {"ProjectionType": "KEYS_ONLY"}
        return {"ProjectionType": "INCLUDE", "NonKeyAttributes": sorted(dict.fromkeys(wanted))}


def key_schema(names: tuple[str, str]) -> list[dict[str, str]]:
    kinds = ("HASH", "RANGE")
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, kinds, strict=True) if name]


Indexes = Sequence[str] | Mapping[str, Index | Local | tuple[str, str] | str]


def key_names(key: str | tuple[str, ...]) -> tuple[str, str]:
    """The two attributes of a table's key, as it is declared; the second is empty for a table without a sort key."""
    names: tuple[Any, ...] = (key,) if isinstance(key, str) else key
    several = next((name for name in names if not isinstance(name, str)), None)
    if several is not None:
        raise DeclarationError(
            f"{several!r} is not the name of a key attribute",
            hint="An index whose key has several attributes can't be declared: name it in ignores=, and read it by "
            'RawQuery(...). A table of your own has one text of several values, as in f"{tenant}#{region}".',
        )
    if not 1 <= len(names) <= 2:
        raise DeclarationError(
            f"a key of {len(names)} attributes", hint='Name one, key="id", or two, key=("pk", "sk").'
        )
    return str(names[0]), str(names[1]) if len(names) > 1 else ""


def kinds_in(key: str | tuple[str, str], indexes: Indexes) -> Mapping[str, KeyKind]:
    """The kinds of the key attributes that a table's declaration names as numbers or bytes."""
    keys: list[str | Index | Local | tuple[str, str]] = [
        key,
        *(indexes.values() if isinstance(indexes, Mapping) else ()),
    ]
    names = [name for one in keys for name in _names_in(one)]
    return MappingProxyType({str(name): name.kind for name in names if isinstance(name, (N, B))})


def _names_in(key: str | Index | Local | tuple[str, str]) -> tuple[str, ...]:
    if isinstance(key, Index):
        return key.partition, key.sort
    if isinstance(key, Local):
        return (key.sort,)
    return (key,) if isinstance(key, str) else key


def named_indexes(indexes: Indexes, key: str | tuple[str, str]) -> Mapping[str, Index]:
    """Indexes from the declaration of a table with this key: names, or names with their key attributes."""
    if isinstance(indexes, Mapping):
        named = {name: _index(one, key_names(key)[0]) for name, one in indexes.items()}
    else:
        named = {name: Index(f"{name}pk", f"{name}sk") for name in indexes}
    return MappingProxyType(named)


def _index(declared: Index | Local | tuple[str, str] | str, partition: str) -> Index:
    if isinstance(declared, Local):
        return Index(partition, str(declared.sort), declared.projection, is_local=True)
    is_local = isinstance(declared, Index) and declared.is_local
    projection = declared.projection if isinstance(declared, Index) else "all"
    return Index(*key_names(_names_in(declared)), projection, is_local)
