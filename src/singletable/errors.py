"""Every error of the library: one tree, whose branches say who must act.

    SingletableError
    ├── Mistake              the caller's: change the code or the input, then call again
    │   ├── DeclarationError     an invalid table, entity or key function               (also TypeError)
    │   ├── InvalidValue         a value that its attribute or key can't hold           (also ValueError)
    │   ├── InvalidRequest       a call that is invalid by itself                      (also ValueError)
    │   ├── TooLarge             over a limit of DynamoDB; nothing was written          (also ValueError)
    │   ├── InvalidCursor        a cursor that is changed, foreign or expired           (also ValueError)
    │   ├── NotConfigured        an engine, a region, credentials or a key is missing
    │   └── NotSupported         the engine lacks what this needs, as transactions
    ├── Conflict             the stored data doesn't allow it: read again, then decide
    │   ├── AlreadyExists
    │   ├── NotFound
    │   ├── NotUnique            another item already uses the value
    │   ├── ConditionFailed
    │   │   ├── VersionMoved     the item was written since you read it
    │   │   └── MissingPath      the item lacks the map or list that contains the changed path
    │   ├── TransactionCancelled which of your operations failed, and why
    │   └── TransactionConflict  another writer held the item until the deadline
    ├── Unavailable          nothing was done, or the error says what was: try again later
    │   ├── Throttled
    │   └── Incomplete           a batch; the error has the rest
    ├── OutcomeUnknown       the write may have been applied: read before you repeat it
    ├── Denied               credentials or permissions
    └── Corrupt              an invalid answer or stored item: a developer must look
        ├── Newer                a newer program wrote it: deploy that, or leave it to one that runs
        └── Applied              a write was applied, and its result can't be decoded: don't repeat it

Messages say what happened, where, and what to do next. They never hold an item's values: a key is shown as its
pattern and its hash, and is on the error as `key` for a program that needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar, Final

from msgspec import Struct

DOCS_URL: str | None = None
"""The address of the published documentation, without a trailing slash; None until a site exists.

Set it here, once: every error then carries the address of its page, as `help_url` and as the last line of its text.
"""


class SingletableError(Exception):
    """The root. `code` is stable; `docs/reference/errors.md` has an entry for each.

    `table`, `key`, `attribute` and `operation` say where; `hint` says what to do next. A key has its table with it.
    `region` (set by `region_from`) and `endpoint` are those of the database, or of the service that was asked;
    `request_id` is that of the request that met the error.
    """

    code: ClassVar[str] = "error"
    called: str = ""
    """The table's name in the account; empty where it is not known."""
    region: str = ""
    """The region, and the URL of the service; empty for an error that no database has raised, as of a declaration."""
    region_from: str = ""
    """Where the region is set: `region=`, a variable, a profile; empty where that is not known."""
    endpoint: str = ""
    request_id: str = ""
    """The service's own id of the request; empty where it gave none."""
    _hash: str = ""
    _hash_of: Callable[..., str] | None = None

    def __init__(
        self,
        what: str,
        *,
        hint: str = "",
        table: str | None = None,
        key: Any = None,
        attribute: str | None = None,
        operation: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.table = table or _table_of(key)
        self.key = key
        self.attribute = attribute
        self.operation = operation

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process: all of it but what can't go there, such as an entity of a class within a function."""
        values = {**vars(self), "_hash": self.key_hash} if self.key_hash else {**vars(self)}
        values.pop("_hash_of", None)
        return _remade, (type(self), self.args, {name: carried(value) for name, value in values.items()})

    @property
    def key_hash(self) -> str:
        """The hash of the key, as events tell it: 16 hex digits. It is made when it is asked for. Empty without a whole
        key, and for an error that no database has raised."""
        texts: tuple[str, ...] = getattr(self.key, "texts", ())
        return self._hash_of(*texts) if texts and self._hash_of is not None else self._hash

    def hash_by(self, hash_of: Callable[..., str]) -> None:
        """Take a database's function for `key_hash`. The first one stays."""
        if self._hash_of is None:
            self._hash_of = hash_of

    def of_call(self, name: str, table: str) -> None:
        """Take the name of a call as `operation`, and its table, where the error has none."""
        self.operation, self.table = self.operation or name.strip("_"), self.table or table or None

    @property
    def _places(self) -> tuple[tuple[str, str | None], ...]:
        """The part of `str` in parentheses, for developers: names of the program's classes and attributes among it."""
        key, hashed = getattr(self.key, "shown", None), self.key_hash
        key = f"{key}, {named_hash(hashed)}" if key and hashed else key
        table = self.table if self.called in ("", self.table) else f"{self.table}, called {self.called}"
        return ("operation", self.operation), ("table", table), ("key", key), ("attribute", self.attribute)

    def summary(self) -> str:
        """The words and the place of the error, without what to do next: for a line of a log."""
        where = ", ".join(f"{name} {value}" for name, value in self._places if value)
        return f"{self.what} ({where})" if where else self.what

    def __str__(self) -> str:
        text = self.summary()
        text = f"{text.rstrip('.')}. {self.hint}" if self.hint else text
        return f"{text}\nSee {self.help_url}" if DOCS_URL else text

    @property
    def help_url(self) -> str | None:
        """The error's page in the published documentation; None while `DOCS_URL` is not set."""
        return f"{DOCS_URL}/reference/errors/{self.code}.html" if DOCS_URL else None


def _table_of(key: Any) -> str | None:
    return getattr(getattr(getattr(key, "model", None), "table", None), "name", None)


class ShownKey(Struct, frozen=True):
    """A key; another process gets its pattern alone."""

    shown: str | None


def named_hash(hashed: str) -> str:
    """The hash of a key with its word. A key that a database shows in its place is quoted, and needs none."""
    return hashed if hashed.startswith(("'", '"')) else f"hash {hashed}"


def carried(value: Any) -> Any:
    """A value as it goes to another process. One of a class that no module has by its name is left here."""
    if value.__class__ is tuple:
        return tuple(map(carried, value))
    kinds: Any = getattr(value, "kinds", None)  # of a query or a key; an entity may have an attribute of this name
    named = kinds if kinds.__class__ is tuple and kinds else (value.__class__,)
    return value if all(map(_is_named, named)) else ShownKey(getattr(value, "shown", None))


def _is_named(kind: type[Any]) -> bool:
    place: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        place = getattr(place, name, None)
    return place is kind or kind.__module__ == "builtins"


def _remade(kind: type[SingletableError], args: tuple[Any, ...], values: dict[str, Any]) -> SingletableError:
    error = kind.__new__(kind, *args)
    error.args, error.__dict__ = args, values
    return error


class Mistake(SingletableError):
    """The caller's: change the code or the input, then call again."""

    code = "mistake"


class DeclarationError(Mistake, TypeError):
    """An invalid table, entity, key function or collection; raised when the class is created."""

    code = "mistake.declaration"


class InvalidValue(Mistake, ValueError):
    """A value that its attribute or key can't hold. Nothing was sent."""

    code = "mistake.value"


class InvalidRequest(Mistake, ValueError):
    """A call that is invalid by itself, found by the library or by the service."""

    code = "mistake.request"


class TooLarge(Mistake, ValueError):
    """Over a limit of DynamoDB. Found before sending, and the largest attributes are named; or found by the service,
    for the result of an update. Nothing was written."""

    code = "mistake.too-large"


class InvalidCursor(Mistake, ValueError):
    """A cursor that was changed, belongs to another query or principal, or has expired."""

    code = "mistake.cursor"


class NotConfigured(Mistake):
    """An engine, a table, a region, credentials or a cursor key is missing; the message says what to set."""

    code = "mistake.not-configured"

    @property
    def _places(self) -> tuple[tuple[str, str | None], ...]:
        """With the place that was asked: a table that is missing there may be in another region."""
        region = f"{self.region} from {self.region_from}" if self.region_from else self.region
        return *super()._places, ("region", region), ("endpoint", self.endpoint)


class NotSupported(Mistake):
    """The engine lacks what this needs; `capability` names it. Nothing was written by this request."""

    code = "mistake.not-supported"

    def __init__(self, what: str, *, capability: str = "", **where: Any) -> None:
        super().__init__(what, **where)
        self.capability = capability


class Conflict(SingletableError):
    """The stored data doesn't allow it: read again, then decide."""

    code = "conflict"


class AlreadyExists(Conflict):
    """`create` found an item under the key."""

    code = "conflict.already-exists"

    def __init__(self, what: str, *, of_another_type: bool = False, **where: Any) -> None:
        super().__init__(what, **where)
        self.of_another_type = of_another_type


class NotFound(Conflict):
    """The write needs an item of this type, and it is missing."""

    code = "conflict.not-found"


class ConditionFailed(Conflict):
    """The condition given as `where=` is false. `stored` is the stored item, where it could be read."""

    code = "conflict.condition"
    condition: str = ""
    """The condition in words, without values."""

    def __init__(self, what: str, *, stored: Any = None, condition: str = "", **where: Any) -> None:
        super().__init__(what, **where)
        self.stored, self.condition = stored, condition

    @property
    def _places(self) -> tuple[tuple[str, str | None], ...]:
        return *super()._places, ("condition", self.condition)


class VersionMoved(ConditionFailed):
    """The item was written since this entity was read. `stored` is the stored item."""

    code = "conflict.version-moved"


class MissingPath(ConditionFailed):
    """An update of `User.address.city` found no map at `address`. `stored` is the stored item."""

    code = "conflict.missing-path"


class NotUnique(Conflict):
    """Another item of the type already uses this unique value. `attribute` names the attribute."""

    code = "conflict.not-unique"


class Failure(Struct, frozen=True):
    """One operation that made a transaction fail. `number` counts from 1, in the caller's order."""

    number: int
    verb: str
    error: SingletableError
    """The error that the operation alone would have raised, with the stored item if it exists."""
    key: Any = None
    """The key of an entity, a `KeyOf`; None where the operation was raw."""
    condition: str = ""
    """The caller's condition, in words, without values."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Failure, (self.number, self.verb, self.error, carried(self.key), self.condition)

    @property
    def shown(self) -> str:
        """The place of the failure, for developers."""
        if self.key is None:
            return self.verb
        hashed = f", {named_hash(self.error.key_hash)}" if self.error.key_hash else ""
        return f"{self.key.shown}{hashed}{f' where {self.condition}' if self.condition else ''}"

    def __str__(self) -> str:
        return f"operation {self.number}, {self.verb}: {self.error.what}"


class TransactionCancelled(Conflict):
    """Nothing in the transaction was applied. `failures` lists the operations that failed, in the given order."""

    code = "conflict.transaction-cancelled"

    def __init__(self, what: str, *, failures: tuple[Failure, ...] = (), **where: Any) -> None:
        super().__init__(what, **where)
        self.failures = failures

    @property
    def _places(self) -> tuple[tuple[str, str | None], ...]:
        return *super()._places, *((f"operation {failure.number}", failure.shown) for failure in self.failures)


class TransactionConflict(Conflict):
    """Another transaction held one of the items until the deadline. Nothing was written."""

    code = "conflict.transaction-conflict"


class Unavailable(SingletableError):
    """The service could not be reached or did not do the work within the deadline. Nothing was written by this call."""

    code = "unavailable"


class Throttled(Unavailable):
    """The service refused the request for its rate until the retries ran out. Nothing was written by this request."""

    code = "unavailable.throttled"


class Incomplete(Unavailable):
    """A batch was done in part. `rest` has the operands that were not done, in their given form. `read` is the number
    of operands that `write_many` had read of its iterators, None where it had none; what follows is not in `rest`.
    """

    code = "unavailable.incomplete"
    read: int | None = None

    def __init__(self, what: str, *, rest: tuple[Any, ...] = (), **where: Any) -> None:
        super().__init__(what, **where)
        self.rest = rest


class OutcomeUnknown(SingletableError):
    """The answer was lost, and the write can't be repeated safely: it may have been applied."""

    code = "outcome-unknown"


class Denied(SingletableError):
    """The credentials are wrong, expired, or lack the permission; or a proxy refuses requests."""

    code = "denied"


class Corrupt(SingletableError):
    """An invalid answer or stored item. A developer must look."""

    code = "corrupt"


class Newer(Corrupt):
    """A newer program wrote it, in a form that this one does not know. Deploy that program, or leave it to one that
    runs."""

    code = "corrupt.newer"


class Applied(Corrupt):
    """The write was applied, and its result could not be decoded: don't repeat it.

    `item` is the stored (or deleted) item, by the stored names; None if it could not be fetched.
    """

    code = "corrupt.applied"

    def __init__(self, what: str, *, item: dict[str, Any] | None = None, **where: Any) -> None:
        super().__init__(what, **where)
        self.item = item


PASSING: Final = (Unavailable, OutcomeUnknown, TransactionConflict)
"""The errors that no worker (of streams, tasks, queues, sync) ends at: it logs the error, pauses and retries.

All others end it: `Denied`, `Mistake` and `Corrupt` need a person, and a `Conflict` that a worker's own flow doesn't
expect is a defect. An error of an application's own function ends no worker, whatever its class.
"""
