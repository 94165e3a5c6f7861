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

from singletable.schema.capture import ANY
from singletable.schema.collections import Collection, Whole, collect
from singletable.schema.copies import copy_of
from singletable.schema.entities import Entity, field, key_of
from singletable.schema.models import model_of
from singletable.schema.patterns import Key, KeyOf, Query
from singletable.schema.ranges import after, at_least, at_most, before, between, starting_with
from singletable.schema.table import Table

__all__ = [
    "ANY",
    "Collection",
    "Entity",
    "Key",
    "KeyOf",
    "Query",
    "Table",
    "Whole",
    "after",
    "at_least",
    "at_most",
    "before",
    "between",
    "collect",
    "copy_of",
    "field",
    "key_of",
    "model_of",
    "starting_with",
]
