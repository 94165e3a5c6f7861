"""The schema: what an application declares. Entities, key templates, access patterns, collections; nothing is sent.

    class User(Entity, table=app, type="user"):
        email: str

        @app.key
        @staticmethod
        def by_email(email: str) -> Key:
            return f"user#{email}", "user"

Begin with `entities` (a declaration), then `patterns` (a call of it) and `models` (all that is known of one class).
`key_text` holds the rule of key texts, `values.key_types` how each value is written, `overlap` which keys two classes
could share. `catalogue` lists every access pattern of a table.
"""

from typing import TYPE_CHECKING

from singletable.late_names import late_names
from singletable.schema.capture import ANY
from singletable.schema.collections import Collection, Whole, collect
from singletable.schema.copies import Copy, copied_version, copies_in, copy_of
from singletable.schema.entities import Entity, field, key_of
from singletable.schema.guard_items import guard_key, guards_of
from singletable.schema.key_text import within
from singletable.schema.mistakes import (
    check_class,
    check_joins,
    check_keys,
    check_query,
    check_table,
    check_update,
    not_one_item,
)
from singletable.schema.models import Model, model_for, model_of, naming
from singletable.schema.patterns import Captured, Key, KeyOf, Query
from singletable.schema.personal import covered_place
from singletable.schema.ranges import after, at_least, at_most, before, between, starting_with
from singletable.schema.table import GUARD_TYPE, OWNER, OWNER_SORT, Table
from singletable.schema.type_filter import needs_type_filter

if TYPE_CHECKING:
    from singletable.schema.notebook import items_html
    from singletable.schema.references import Reference
    from singletable.schema.tool_items import tool_model

__all__ = [
    "ANY",
    "GUARD_TYPE",
    "OWNER",
    "OWNER_SORT",
    "Captured",
    "Collection",
    "Copy",
    "Entity",
    "Key",
    "KeyOf",
    "Model",
    "Query",
    "Reference",
    "Table",
    "Whole",
    "after",
    "at_least",
    "at_most",
    "before",
    "between",
    "check_class",
    "check_joins",
    "check_keys",
    "check_query",
    "check_table",
    "check_update",
    "collect",
    "copied_version",
    "copies_in",
    "copy_of",
    "covered_place",
    "field",
    "guard_key",
    "guards_of",
    "items_html",
    "key_of",
    "model_for",
    "model_of",
    "naming",
    "needs_type_filter",
    "not_one_item",
    "starting_with",
    "tool_model",
    "within",
]

# What a check, an erasure and a notebook need.
__getattr__ = late_names(
    __name__,
    notebook="items_html",
    references="Reference",
    tool_items="tool_model",
)
