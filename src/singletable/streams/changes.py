"""Changes: the handlers that an application declares for the changes of its entities.

changes = Changes(app)

@changes.on(Search).inserted
def start(change: Inserted[Search]) -> None: ...

@changes.on(Contact).modified(Contact.name)
def renamed(change: Modified[Contact]) -> None: ...

ChangeWorker(db, changes).run()               # a worker, until SIGTERM
handler = ChangeWorker(db, changes).lambda_handler()   # or AWS Lambda
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar, overload
from weakref import WeakKeyDictionary, WeakSet

from singletable.errors import DeclarationError
from singletable.expressions import Handle, first_name, is_whole
from singletable.foundation import Entity, LayerBelongings, LayerChecks, Table, model_of
from singletable.streams.belongings import ChangeBelongings
from singletable.streams.check import ConsumerPass
from singletable.streams.consumer import Consumer
from singletable.streams.copies import copy_updater
from singletable.streams.events import Expired, Gap, Inserted, Modified, Removed
from singletable.streams.router import Handler, Router, What
from singletable.streams.state import LeasesIn, state_entities
from singletable.tables import STREAM_VIEWS

E = TypeVar("E", bound=Entity)
R = TypeVar("R")
T = TypeVar("T")


class On(Generic[E]):
    """The events of an entity class. Each is a decorator; call it as a function for a bound method."""

    def __init__(self, kind: type[E], add: Callable[[Handler], None]) -> None:
        self._type = model_of(kind).type
        self._kind = kind
        self._add = add

    def inserted(self, handler: Callable[[Inserted[E]], R]) -> Callable[[Inserted[E]], R]:
        """A new item; also an item that replaces an expired one."""
        return self._register("inserted", handler)

    @overload
    def modified(  # pyright: ignore[reportOverlappingOverload] an attribute's own type is never that callable
        self, handler: Callable[[Modified[E]], R], /
    ) -> Callable[[Modified[E]], R]: ...
    @overload
    def modified(self, *attributes: Any) -> Callable[[Callable[[Modified[E]], R]], Callable[[Modified[E]], R]]: ...
    def modified(self, *given: Any) -> Any:
        """Any attribute changed; with attributes given, one of those changed: `modified(Contact.name)`."""
        if len(given) == 1 and callable(given[0]) and not isinstance(given[0], Handle):
            return self._register("modified", given[0])
        names = tuple(self._name_of(attribute) for attribute in given)

        def register(handler: Callable[[Any], Any]) -> Any:
            return self._register("modified", handler, names)

        return register

    def removed(self, handler: Callable[[Removed[E]], R]) -> Callable[[Removed[E]], R]:
        """An item that was deleted before it expired."""
        return self._register("removed", handler)

    def expired(self, handler: Callable[[Expired[E]], R]) -> Callable[[Expired[E]], R]:
        """An item that had expired when it was deleted, by DynamoDB or a program, or overwritten."""
        return self._register("expired", handler)

    def _register(
        self, what: What, handler: Callable[[Any], R], attributes: tuple[str, ...] = ()
    ) -> Callable[[Any], R]:
        self._add(Handler(self._type, what, handler, attributes))
        return handler

    def _name_of(self, attribute: Any) -> str:
        if not isinstance(attribute, Handle) or not is_whole(attribute):
            raise DeclarationError(
                f"modified() takes whole attributes of {self._kind.__name__}, or the handler",
                hint=f"As in @changes.on({self._kind.__name__}).modified({self._kind.__name__}.name).",
            )
        return first_name(attribute)


class Changes:
    """The handlers of one consumer of a table's changes. Consumers of different names have checkpoints of their own.

    Each change is handled at least once, and the changes of one item in order; those of different items concurrently.
    Handlers of one event run in the order of their declaration. A change that fails is tried again; after the last try
    it is a dead letter, with both its images. `ChangeWorker(db, changes)` calls the handlers.

    `leases` says where checkpoints are stored: in a table of their own, `<table>-leases`, or in the "same" one.
    Raises DeclarationError for a table without a stream.
    """

    def __init__(self, table: Table, *, name: str = "changes", leases: LeasesIn = "own") -> None:
        if not isinstance(table, Table):  # pyright: ignore[reportUnnecessaryIsInstance] callers may not be typed
            raise DeclarationError(
                f"Changes takes a Table, and was given a {type(table).__name__}",
                hint='As in Changes(app), where app = Table("app", stream="new_and_old").',
            )
        if table.definition.stream is None:
            raise DeclarationError(
                "the table has no stream", table=table.name, hint='Declare Table(..., stream="new_and_old").'
            )
        self.table, self.name = table, name
        self._leases_in: LeasesIn = leases
        self._router = Router(table)
        self._on_gap: list[Callable[[Gap], Any]] = []
        _CHANGES_OF.setdefault(table, WeakSet()).add(self)

    def __repr__(self) -> str:
        return f"<Changes {self.name} of {self.table.name}>"

    def on(self, kind: type[E]) -> On[E]:
        """The events of an entity class, to declare handlers for them."""
        if model_of(kind).table is not self.table:
            raise DeclarationError(f"{kind.__name__} lies in table {model_of(kind).table.name}", table=self.table.name)
        return On(kind, self._add)

    def on_gap(self, handler: Callable[[Gap], R]) -> Callable[[Gap], R]:
        """Declare a handler for gaps. It is called before the worker goes on after changes that are lost.

        Without one, a `GapWarning` is issued. A handler that raises ends the worker, and the next worker calls it
        again; after an error that passes, such as `Unavailable`, this one does.
        """
        self._on_gap.append(handler)
        return handler

    def keep_copies(self, pattern: Callable[..., Any], *, to: type[Entity] | None = None) -> None:
        """Keep attributes declared with `copy_of` up to date in the entities that a pattern finds by their source.

            changes.keep_copies(Membership.of_organisation)

        `to` is the class of the holders where the pattern finds other entities that lead to them: the members of an
        organisation lead to their users' side of it. Both must have the holders' key attributes.

        A change of the source is written to all holders concurrently, one write each. A new holder, or one whose copy
        was written by hand, is checked against the source: a consistent read and a write. Where the pattern reads an
        index, it is read again once the index can't lag any more. Holders are up to date when the stream is drained.
        Raises DeclarationError if holders and source can't be found from each other.
        """
        for handler in copy_updater(self.table, pattern, to).handlers():
            self._add(handler)

    @property
    def form(self) -> Mapping[str, Any]:
        """Where its checkpoints lie, and which events of which types it handles, as JSON."""
        return {"leases": self._leases_in, "handles": sorted({f"{h.type} {h.what}" for h in self._router.handlers})}

    @property
    def unknown(self) -> Mapping[str, int]:
        """The number of records without a handler, by `type#EVENT`, in this process."""
        return dict(self._router.unknown)

    @property
    def gaps(self) -> int:
        """The number of gaps found in this process."""
        return self._router.gaps

    @property
    def passed_over(self) -> int:
        """The number of changes that no handler got in this process, as they were made while the table was held."""
        return self._router.passed_over

    def checks(self) -> LayerChecks:
        """The checks of `db.check(table, changes)`, beyond those of records: the state of this consumer."""
        return LayerChecks(self.table, (), (ConsumerPass(self.consumer),))

    def belongings(self) -> LayerBelongings:
        """The finds of `Erasure(db, table, changes)`, beyond records: dead letters of the subject's items."""
        return ChangeBelongings(self.consumer)

    @cached_property
    def leases(self) -> Table:
        """The table that holds leases, checkpoints and dead letters; created at first use on a local engine."""
        return state_entities(self.table, self._leases_in).table

    @cached_property
    def consumer(self) -> Consumer:
        """The consumer, as a worker takes it."""
        return Consumer(self.table, self.name, state_entities(self.table, self._leases_in), self._router, self._on_gap)

    def _add(self, handler: Handler) -> None:
        _check_view(self.table, handler)
        _check_expiry(self.table, handler)
        _check_key(self.table, handler)
        self._router.add(handler)


def _check_key(table: Table, handler: Handler) -> None:
    """Refuse a class whose items move to another key: the stream has a move as a removal and an insertion."""
    model = table.model_of_type(handler.type)
    if model is not None and model.key.was is not None and handler.what != "modified":
        raise DeclarationError(
            f"{model.key.shown_with_was}: an item that moves would be told as {handler.what}",
            table=table.name,
            hint="Handle `modified` alone until all items have moved, or declare was= in a program without handlers.",
        )


_CHANGES_OF: WeakKeyDictionary[Table, WeakSet[Changes]] = WeakKeyDictionary()
"""The consumers of each table that this program has declared, while they are referenced."""


def changes_of(table: Table) -> list[Changes]:
    """The consumers of a table that this program has declared, by name; of two with one name the last."""
    consumers = sorted(_CHANGES_OF.get(table, ()), key=lambda consumer: consumer.name)
    return list({consumer.name: consumer for consumer in consumers}.values())


def _check_view(table: Table, handler: Handler) -> None:
    """Refuse a stream without the images that a handler needs."""
    if lack := handler.lacks_in(STREAM_VIEWS[table.definition.stream or "keys"]):
        raise DeclarationError(lack, table=table.name, hint='Declare Table(..., stream="new_and_old").')


def _check_expiry(table: Table, handler: Handler) -> None:
    """Refuse a handler of expiry for a class whose items never expire."""
    model = table.model_of_type(handler.type)
    if handler.what == "expired" and model is not None and "expires" not in model.roles.values():
        raise DeclarationError(
            f"{handler.type} items never expire: {model.kind.__name__} has no attribute that says when",
            table=table.name,
            hint="Give it one, as in ends: datetime = field(expires=True), or handle removed.",
        )
