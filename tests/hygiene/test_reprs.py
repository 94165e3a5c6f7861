"""The reprs of public classes: no field of theirs that may hold a value, a key or a secret is shown."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import msgspec
import pytest

from singletable.documents import Mutation
from singletable.events import MessageFailed
from singletable.exchange.export import ExportOptions
from singletable.exchange.table_copy import CopyOptions
from singletable.jobs import Round
from singletable.queues import Outgoing
from singletable.records.write import Write
from singletable.streams import Expired, Inserted, Modified, Removed
from singletable.sync import Access, HttpRequest
from tests.architecture.import_all import modules
from tests.hygiene.canaries import BYTES, ID, TEXT, Secret, secret, seen_in
from tests.support.engines import fresh
from tools.distributions import ROOT

_NAMES = frozenset(
    ("key", "keys", "sort", "partition", "document_id", "arguments", "args", "principal", "secret", "token", "headers")
).union(("form_token", "mask_key", "scalars", "base", "ours", "theirs", "examples"))
_TYPES = re.compile(
    r"bytes\b(?!: int)|Raw\b|\bItem\b|pa\.Table|^~|^\w$|_co$|^(typing\.)?Any$|Mapping\[str, (typing\.)?Any\]"
)
_IS_PUBLIC = re.compile(r"singletable(?!\.operations\b)")
_SAFE = ("<class 'bool'>", "Place")
NO_VALUES = {
    ("Dataset", "keys"): "names of attributes",
    ("ModelDocument", "key"): "names of attributes",
    ("ModelDocument", "settings"): "of a table",
    ("ModelDocument", "layers"): "their forms, as declared",
    ("Description", "raw"): "the service's description of a table",
    ("TaskFunction", "belongs_to"): "names of attributes",
    ("ToolSettings", "blobs"): "a store of blobs",
    ("Every", "query"): "a query, which shows its pattern alone",
    ("ReadsAlso", "kind"): "a type",
    ("StoredAs", "stored"): "a type",
    **dict.fromkeys((("Index", "partition"), ("Index", "sort"), ("Local", "sort")), "names of attributes"),
}
"""Fields that look as if they held some, and why they don't."""


def documented() -> set[str]:
    """The names that the reference has an entry for."""
    headings = (line for page in (ROOT / "docs/reference/api").glob("*.md") for line in page.read_text().splitlines())
    return {name for line in headings if line.startswith("##") for name in re.findall(r"`(\w+)`", line)}


def public_classes() -> set[type[Any]]:
    names = documented()
    values = [value for name in modules("src") for value in vars(importlib.import_module(name)).values()]
    kinds = {value for value in values if isinstance(value, type)}
    return {k for k in kinds if _IS_PUBLIC.match(k.__module__) and k.__name__ in names}


def shown_fields(kind: type[Any]) -> Iterator[tuple[str, str]]:
    """The fields of a generated repr, with their types; none for a class that writes its own."""
    if issubclass(kind, msgspec.Struct) and kind.__repr__ is msgspec.Struct.__repr__:
        yield from ((one.name, str(one.type)) for one in msgspec.structs.fields(kind))
    elif dataclasses.is_dataclass(kind) and hasattr(kind.__dict__.get("__repr__"), "__wrapped__"):
        yield from ((one.name, str(one.type)) for one in dataclasses.fields(kind) if one.repr)


def holds_values(name: str, type_name: str) -> bool:
    if type_name in _SAFE or "Callable[" in type_name:
        return False
    return name in _NAMES or _TYPES.search(type_name) is not None


def test_a_generated_repr_shows_no_field_that_may_hold_a_value() -> None:
    shown = {
        (kind.__name__, name): type_name
        for kind in public_classes()
        for name, type_name in shown_fields(kind)
        if holds_values(name, type_name)
    }
    assert {field: shown[field] for field in shown.keys() - NO_VALUES.keys()} == {}
    assert NO_VALUES.keys() - shown.keys() == set()


CHANGE: dict[str, Any] = {
    "key": Secret.by_id(ID),
    "sequence": "1",
    "time": datetime(2026, 1, 2, tzinfo=timezone.utc),
    "event": "MODIFY",
}
MADE = [
    *(kind(**CHANGE, old=secret()) for kind in (Removed, Expired)),
    Inserted(**CHANGE, new=secret()),
    Modified(**CHANGE, old=secret(), new=secret()),
    Mutation.of("rename", {"to": TEXT}).by("client", 1, principal=ID),
    MessageFailed(queue="orders", error=ValueError(TEXT), message="m1", attempt=1),
    ExportOptions(personal=False, mask_key=BYTES * 2),
    CopyOptions(mask_key=BYTES * 2),
    Round({"pk": {"S": ID}}, is_over=True, lines=[{"key": ID}]),
    Outgoing(TEXT, ID, TEXT),
    HttpRequest("GET", "/", {"cookie": TEXT}, {"id": ID}),
    Access("rename", {"to": TEXT}),
]


@pytest.mark.parametrize("value", MADE, ids=lambda value: type(value).__name__)
def test_a_public_value_shows_none_of_what_it_holds(value: Any) -> None:
    assert type(value).__name__ in repr(value)
    assert [*seen_in(f"{value!r} {value}")] == []


def kinds_of(kind: type[Any]) -> Iterator[type[Any]]:
    for one in kind.__subclasses__():
        yield one
        yield from kinds_of(one)


def test_the_write_of_no_layer_has_a_repr_of_its_own() -> None:
    """A dataclass would make one, of the entity that it writes."""
    public_classes()
    kinds = [*kinds_of(Write)]
    assert len(kinds) > 20
    assert {kind.__qualname__ for kind in kinds if vars(kind)["__repr__"] is not vars(Write)["__repr__"]} == set()


def test_the_writes_of_a_transaction_show_their_patterns() -> None:
    with fresh() as db, db.transaction() as tx:
        tx.put(secret())
        shown = repr(tx.pending)
        assert shown == "[<PutWrite Secret.by_id secret#{id} / secret>]"
        tx.pending.clear()
