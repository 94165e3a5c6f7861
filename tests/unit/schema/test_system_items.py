"""The library's own items have the keys that a key function written by hand would give them, for any separator."""

from __future__ import annotations

import pytest

from singletable import ANY, Entity, Key, Table
from singletable.foundation import KeyParts, system_index, system_key
from singletable.schema import model_of
from singletable.schema.catalogue import catalogue
from singletable.values.key_types import SEPARATORS


@pytest.mark.parametrize("separator", SEPARATORS)
def test_parts_are_joined_by_the_table_s_separator(separator: str) -> None:
    ours, theirs = (Table(name, indexes=["gsi1"], separator=separator) for name in ("ours", "theirs"))

    class Lease(Entity, table=ours, type="_lease"):
        consumer: str
        shard: int

        @system_key(ours)
        @staticmethod
        def by_shard(consumer: str, shard: int = ANY) -> KeyParts:
            """The leases of a consumer."""
            return ("_lease", f"{consumer}"), (f"{shard:03}",)

        @system_index(ours, "gsi1")
        @staticmethod
        def by_number(shard: int, consumer: str = ANY) -> KeyParts:
            return ("_lease", f"{shard}"), ("of", f"{consumer}")

    class ByHand(Entity, table=theirs, type="_lease"):
        consumer: str
        shard: int

        @theirs.key
        @staticmethod
        def by_shard(consumer: str, shard: int = ANY) -> Key:
            """The leases of a consumer."""
            return f"_lease{separator}{consumer}", f"{shard:03}"

        @theirs.index("gsi1")
        @staticmethod
        def by_number(shard: int, consumer: str = ANY) -> Key:
            return f"_lease{separator}{shard}", f"of{separator}{consumer}"

    made, wanted = model_of(Lease), model_of(ByHand)
    assert made.key.templates == wanted.key.templates
    assert made.indexes["gsi1"].templates == wanted.indexes["gsi1"].templates
    assert made.item(Lease(consumer="a%b", shard=7)) == wanted.item(ByHand(consumer="a%b", shard=7))
    assert made.key.function.__doc__ == "The leases of a consumer."
    assert Lease.by_shard("a").low == ByHand.by_shard("a").low


def test_its_patterns_are_listed_with_the_library_s_own_only() -> None:
    app = Table("app")

    class Lease(Entity, table=app, type="_lease"):
        consumer: str

        @system_key(app)
        @staticmethod
        def by_consumer(consumer: str) -> KeyParts:
            return ("_lease", f"{consumer}"), ("_lease",)

    assert Lease.by_consumer("a").partition == "_lease#a"
    assert catalogue(app) == ()
    assert [pattern.partition for pattern in catalogue(app, system=True)] == ["_lease#{consumer}"]
