"""The places of a class's items, and the work of each verb for them.

Most classes are plain: an item lies under its key, in one form, in the table of its class. Others have items that lie
elsewhere as well:

    plain           under the key                                        no hook: only the verb's own flow runs
    moving          under the key, or the one that the class had before,  `old_keys`, for `@table.key(was=...)`
                    in the same table or in another
    in two forms    under the key, in an older schema version's form too  `two_forms`, for `stored_as=...`

A placement is a value with a hook for each question that verbs ask; None stands for the plain answer. It is chosen once
for each class. Flows ask it and not the declaration, so a further kind of place is one more module, and its name in
`KINDS`:

    alone = placement_of(write.model).send or send_at_its_key

Each hook's promise, for whoever adds a placement:

* An item in two places is one item: the verbs' rules hold for it, as for an item of a plain class.
* No writer loses an update while an item changes its place; a reader sees it once.
* `find` and `find_many` send nothing if the plain flow has found the items. The costs are in
  docs/reference/write-rules.md.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from singletable.flow import Port, Request
from singletable.operations import AnswerPage, Item, ItemReader, Key
from singletable.records.unreadable import OnUnreadable
from singletable.schema import KeyOf, Model, Query, Table

if TYPE_CHECKING:
    from singletable.records.write import Write, WritePart

    Send = Callable[[Port, Write, bool, bool], Awaitable[Any]]
    Check = Callable[[Write], None]
    Companion = Callable[[Write, Any], tuple[KeyOf[Any], WritePart] | None]
    AfterCompanion = Callable[[Port, Write, Item | None, float], Awaitable[Any]]
else:  # help() evaluates them; a program that only reads loads no writes
    Send = Check = Companion = AfterCompanion = Callable[..., Any]

Place = tuple[str, str]
ReadParts = Callable[[Port, Query[Any], Key | None, int | None, OnUnreadable], Awaitable[AnswerPage[Any]]]
FindMany = Callable[
    [Port, Table, Mapping[Place, KeyOf[Any]], ItemReader[Any], dict[Place, Any], OnUnreadable], Awaitable[None]
]


class Placement(Struct, frozen=True, kw_only=True):
    """The verbs' hooks for the items of a class that lie elsewhere. By default nothing."""

    # --- reads
    find: Callable[[Port, KeyOf[Any], OnUnreadable], Awaitable[Any]] | None = None
    """`get`: the entity of a key under which nothing lies, or None."""
    find_many: FindMany | None = None
    """`get_many`: adds the items from elsewhere to the ones found under the keys. One call for the keys of a table."""
    read_parts: ReadParts | None = None
    """`page`, `iter`, `all`: the next items of a query that has parts, merged in the order of its key."""
    explain_find: Callable[[KeyOf[Any]], tuple[Request, str]] | None = None
    """`explain`: the request of `find`, and its cost."""
    whole_only: str = ""
    """The declaration that forbids reading a part of an item."""
    elsewhere: str = ""
    """The declaration of the other place, if a query of several classes and a batch of writes can't reach it."""

    # --- writes
    send: Send | None = None
    """Sends a write alone, with the requests that must go before it, with it or after it."""
    check_in_transaction: Check | None = None
    """Raises InvalidRequest for a write that can't be a part of a transaction."""
    companion: Companion | None = None
    """The action in the other place that goes with a write in its transaction, from what is known to lie there."""
    after_companion: AfterCompanion | None = None
    """The knowledge of the other place after a companion was refused."""
    bring: Callable[[Port, KeyOf[Any]], Awaitable[object]] | None = None
    """Brings an item that lies elsewhere under its key, before a write that needs it there is repeated."""
    needed_by: str = "exactly_once"
    """The reason why a write alone is a transaction."""


PLAIN = Placement()


class PlacementKind(Struct, frozen=True):
    """A kind of placement."""

    applies: Callable[[Model[Any]], bool]
    """Whether the items of a class have it."""
    module: str
    """The module of this package whose `placed(model, placement)` makes the class's placement of the one without it."""


KINDS = (
    PlacementKind(lambda model: model.is_in_two_forms, "two_forms"),
    PlacementKind(lambda model: model.key.was is not None, "old_keys"),
)
"""The kinds of placement, the inner one first. They send by flows that ask for a placement, so they can't be imported
here; and few classes need them."""


@cache
def placement_of(model: Model[Any]) -> Placement:
    """The placement of a class."""
    placement = PLAIN
    for kind in KINDS:
        if kind.applies(model):
            placement = import_module(f"{__package__}.{kind.module}").placed(model, placement)
    return placement
