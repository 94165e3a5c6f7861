"""Records: entities declared once, their keys, access patterns, collections, batches, transactions, cursors.

    class User(Entity, table=app, type="user"):
        email: str

        @app.key
        @staticmethod
        def by_email(email: str) -> Key:
            return f"user#{email}", "user"

Begin with `entities` (a declaration), then `patterns` (a call of it), `selection` and `reading` (what is asked and
read), `rules` and `writing` (what each write means). `keytext` holds the rule of key texts, `models` what is known of
a class. Flows are `async def` over a port; `flows` lists those that the shells run.
"""

from typing import TYPE_CHECKING

from singletable.later import later
from singletable.records import flows
from singletable.records.capture import ANY
from singletable.records.catalogue import (
    AccessPattern,
    Parameter,
    PatternKind,
    captured_of,
    catalogue,
    collections_of,
    entity_name,
)
from singletable.records.collections import Collection, Whole, collect
from singletable.records.copying import copy_of
from singletable.records.cursors import CursorSeal
from singletable.records.entities import Entity, field, key_of
from singletable.records.models import Model, model_of
from singletable.records.patterns import (
    Key,
    KeyOf,
    Query,
    after,
    at_least,
    at_most,
    before,
    between,
    starting_with,
)
from singletable.records.reading import DEFAULT_MAX_PAGES, Page
from singletable.records.table import Table
from singletable.records.transactions import Failure, Transaction

if TYPE_CHECKING:
    from singletable.records.checking import Finding
    from singletable.records.explain import Explainable, Explained

__all__ = [
    "ANY",
    "DEFAULT_MAX_PAGES",
    "AccessPattern",
    "Collection",
    "CursorSeal",
    "Entity",
    "Explainable",
    "Explained",
    "Failure",
    "Finding",
    "Key",
    "KeyOf",
    "Model",
    "Page",
    "Parameter",
    "PatternKind",
    "Query",
    "Table",
    "Transaction",
    "Whole",
    "after",
    "at_least",
    "at_most",
    "before",
    "between",
    "captured_of",
    "catalogue",
    "collect",
    "collections_of",
    "copy_of",
    "entity_name",
    "field",
    "flows",
    "key_of",
    "model_of",
    "starting_with",
]

# For tools and tests: a program that serves requests needs none of it.
_LATE = {
    "singletable.records.checking": ("Finding",),
    "singletable.records.explain": ("Explainable", "Explained"),
}
__getattr__ = later(globals(), {name: module for module, names in _LATE.items() for name in names})
