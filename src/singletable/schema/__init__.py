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
from singletable.schema.capture import ANY as ANY
from singletable.schema.collections import Collection as Collection, Whole as Whole, collect as collect
from singletable.schema.copies import (
    Copy as Copy,
    copied_version as copied_version,
    copies_in as copies_in,
    copy_of as copy_of,
)
from singletable.schema.corrupt_items import naming as naming
from singletable.schema.entities import Entity as Entity, field as field, key_of as key_of
from singletable.schema.key_bounds import below as below, within as within
from singletable.schema.mistakes import (
    check_class as check_class,
    check_joins as check_joins,
    check_keys as check_keys,
    check_query as check_query,
    check_table as check_table,
    check_update as check_update,
    not_one_item as not_one_item,
)
from singletable.schema.models import Model as Model, model_for as model_for, model_of as model_of
from singletable.schema.patterns import Captured as Captured, Key as Key, KeyOf as KeyOf, Query as Query
from singletable.schema.reads import Every as Every, ReadOf as ReadOf
from singletable.schema.table import (
    ATTACHED_TYPES as ATTACHED_TYPES,
    GUARD_TYPE as GUARD_TYPE,
    OWNER as OWNER,
    OWNER_SORT as OWNER_SORT,
    WORD_TYPE as WORD_TYPE,
    Table as Table,
)
from singletable.schema.told_keys import AskedKey as AskedKey
from singletable.schema.type_filter import needs_type_filter as needs_type_filter

if TYPE_CHECKING:
    from singletable.schema.attached_items import attached_keys as attached_keys, attached_model as attached_model
    from singletable.schema.guard_items import (
        guard_key as guard_key,
        guard_keys as guard_keys,
        guards_of as guards_of,
    )
    from singletable.schema.key_reads import missing_in as missing_in, whole_items as whole_items
    from singletable.schema.notebook import items_html as items_html
    from singletable.schema.old_keys import MovingKey as MovingKey, MovingPattern as MovingPattern
    from singletable.schema.personal import covered_place as covered_place
    from singletable.schema.ranges import (
        after as after,
        at_least as at_least,
        at_most as at_most,
        before as before,
        between as between,
        starting_with as starting_with,
    )
    from singletable.schema.references import Reference as Reference
    from singletable.schema.searches import SearchPattern as SearchPattern, SearchQuery as SearchQuery
    from singletable.schema.tool_items import tool_model as tool_model
    from singletable.schema.word_items import (
        entries as entries,
        word_keys as word_keys,
        worded_search as worded_search,
        words_of as words_of,
    )

# What writes of unique values, a check, an erasure, a notebook, ranges, keys that moved, and a query of an index that
# holds a part of its items need.
__getattr__ = late_names(
    __name__,
    attached_items="attached_keys attached_model",
    guard_items="guard_key guard_keys guards_of",
    key_reads="missing_in whole_items",
    notebook="items_html",
    old_keys="MovingKey MovingPattern",
    personal="covered_place",
    ranges="after at_least at_most before between starting_with",
    references="Reference",
    searches="SearchPattern SearchQuery",
    tool_items="tool_model",
    word_items="entries word_keys worded_search words_of",
)
