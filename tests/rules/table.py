"""The table of the write rules, as data: what each verb promises in each case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Verb = Literal["create", "put", "update", "upsert", "delete", "write_many"]
Case = Literal["missing", "other-type", "version", "unique", "expired", "lost"]
VERBS: tuple[Verb, ...] = get_args(Verb)
CASES: tuple[Case, ...] = get_args(Case)

PROMISES: Mapping[tuple[Verb, Case], str] = {
    ("create", "missing"): "writes",
    ("create", "other-type"): "AlreadyExists",
    ("create", "version"): "1",
    ("create", "unique"): "a guard item in the same transaction",
    ("create", "expired"): "overwritten, as if absent",
    ("create", "lost"): "settled by a write id on the item",
    ("put", "missing"): "writes",
    ("put", "other-type"): "refused by a condition on the type",
    ("put", "version"): "must equal the entity's",
    ("put", "unique"): "reads the old value: one read and a transaction",
    ("put", "expired"): "overwritten",
    ("put", "lost"): "repeated: the last writer wins",
    ("update", "missing"): "NotFound, never a ghost",
    ("update", "other-type"): "NotFound",
    ("update", "version"): "one more always; compared when an entity or expected= is given",
    ("update", "unique"): "reads the old value when that attribute changes",
    ("update", "expired"): "NotFound",
    ("update", "lost"): "set of constants repeated; add and append sent once, then OutcomeUnknown, or exactly_once",
    ("upsert", "missing"): "writes whole, all keys",
    ("upsert", "other-type"): "refused",
    ("upsert", "version"): "as update",
    ("upsert", "unique"): "as put",
    ("upsert", "expired"): "as create",
    ("upsert", "lost"): "as update",
    ("delete", "missing"): "None",
    ("delete", "other-type"): "None",
    ("delete", "version"): "compared when given",
    ("delete", "unique"): "reads the value, removes the guard",
    ("delete", "expired"): "None",
    ("delete", "lost"): "repeated",
    ("write_many", "missing"): "writes",
    ("write_many", "other-type"): 'overwritten; refused for overlap="guard"',
    ("write_many", "version"): "refused",
    ("write_many", "unique"): "refused",
    ("write_many", "expired"): "overwritten",
    ("write_many", "lost"): "repeated",
}
