"""The verbs of records, as a role declares them: with a class or a pattern where the database's take an object.

    db.get(User.by_email("ada@..."))     User.by_email, or reads(User.by_email)
    db.create(user)                      creates(User)
    db.update(user, ...)                 updates(User)

Each gives what the verb sends in every situation: the write itself, the guards of unique values and the words of
searches, and the read that proves that an item is missing or that a planned write is up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from singletable.errors import DeclarationError
from singletable.expressions import Handle, first_name
from singletable.foundation import (
    ANY,
    Bound,
    Captured,
    Entity,
    Model,
    Query,
    SearchPattern,
    Table,
    attached_prefixes,
    captured_of,
    entity_name,
    model_of,
    word_prefix,
)
from singletable.schema import Whole
from singletable_deploy.access import Grant, ResourceAccess, Where, anywhere, at, table_resource
from singletable_deploy.key_patterns import ANY_KEY, literal

Pattern = Callable[..., Query[Any] | Whole[Any]]
"""A declared access pattern, not called: `User.by_email`, or that of a collection."""

ITEM_READS = ("GetItem", "BatchGetItem")
PROOF = "GetItem"
"""The consistent read of an item that a write may have to send."""
_TAKES_GUARDS = ("PutItem", "DeleteItem", "ConditionCheckItem")
_SET_UP = ("CreateTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive", "UpdateContinuousBackups")
_MOVED_TO = ("PutItem", "ConditionCheckItem", PROOF)
_MOVED_FROM = ("DeleteItem", "ConditionCheckItem", PROOF)
"""The requests of a write under the present and the former key of a class: it moves the item."""
_SCHEMES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "creates": (("PutItem", PROOF), ("PutItem",)),
    "puts": (("PutItem", PROOF), _TAKES_GUARDS),
    "upserts": (("UpdateItem", PROOF), _TAKES_GUARDS),
    "updates": (("UpdateItem", PROOF), _TAKES_GUARDS),
    "deletes": (("DeleteItem", PROOF), ("DeleteItem", "ConditionCheckItem")),
    "checks": (("ConditionCheckItem", PROOF), ()),
}
"""The requests of each verb for the item, and for the guards of its unique values."""


def reads(*patterns: Pattern, only: Sequence[Any] = (), hydrated: bool = False) -> Grant:
    """Read through patterns: one item, several by their keys, or pages of a query.

    With `only` the role must ask for these attributes, as in `db.get(User.by_email(x).only(User.name))`: a read of the
    whole item is refused. With `hydrated` it may read the items by the keys that indexes have, too. DeclarationError
    for what is not a pattern.
    """
    captures = [_captured(pattern) for pattern in patterns]
    shown = ", ".join(f"{entity_name(model.kind)}.{captured.name}" for model, captured, _ in captures)

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        for model, captured, is_whole in captures:
            if isinstance(captured, SearchPattern):
                words = literal(word_prefix(model, captured.name)) + ANY_KEY
                yield ResourceAccess(table_resource(model.table), frozenset({"Query"}), (words,))
                yield at(model, model.key, ("BatchGetItem",), where)
                continue
            attributes = _attributes(model, captured, only) if only else None
            actions = _actions(model, captured, is_whole)
            yield at(model, captured, actions, where, attributes)
            if captured.was is not None:
                yield at(model, captured.was, actions, where, attributes)
            if hydrated:
                yield at(model, model.key, ("BatchGetItem",), where)

    return Grant(f"reads({shown})", _tables_of(model for model, _, _ in captures), accesses)


def creates(*kinds: type[Entity]) -> Grant:
    """`db.create`, alone or in a transaction."""
    return _writes("creates", kinds)


def puts(*kinds: type[Entity]) -> Grant:
    """`db.put`."""
    return _writes("puts", kinds)


def upserts(*kinds: type[Entity]) -> Grant:
    """`db.upsert`."""
    return _writes("upserts", kinds)


def updates(*kinds: type[Entity]) -> Grant:
    """`db.update`."""
    return _writes("updates", kinds)


def deletes(*kinds: type[Entity]) -> Grant:
    """`db.delete`."""
    return _writes("deletes", kinds)


def checks(*kinds: type[Entity]) -> Grant:
    """`tx.check`: a condition on an item that the transaction doesn't write."""
    return _writes("checks", kinds)


def writes_many(*kinds: type[Entity]) -> Grant:
    """`db.write_many`: puts and deletes in batches, without conditions."""
    models = [_model(kind, "writes_many") for kind in kinds]

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        for model in models:
            yield at(model, model.key, ("BatchWriteItem",), where)

    return Grant(_shown("writes_many", kinds), tuple(dict.fromkeys(m.table for m in models)), accesses)


def scans(table: Table) -> Grant:
    """`db.scan` and `db.check`: every item of a table. No policy can hold a scan to some items."""
    return Grant(f"scans({table.name})", (table,), lambda where: anywhere(table, ("Scan",)))


def sets_up(*tables: Table) -> Grant:
    """`db.create_table`: create missing tables, look at existing ones."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        for table in tables:
            yield from anywhere(table, _SET_UP)

    return Grant(f"sets_up({', '.join(table.name for table in tables)})", tables, accesses)


def _writes(verb: str, kinds: Sequence[type[Entity]]) -> Grant:
    models = [_model(kind, verb) for kind in kinds]

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        for model in models:
            yield from _write(verb, model, where)

    return Grant(_shown(verb, kinds), _tables_of(models), accesses)


def _tables_of(models: Iterable[Model[Any]]) -> tuple[Table, ...]:
    """The tables of classes, and those where their items may lie still."""
    return tuple(dict.fromkeys(table for model in models for table in (model.table, model.before.table)))


def _write(verb: str, model: Model[Any], where: Where) -> Iterator[ResourceAccess]:
    own, guards = _SCHEMES[verb]
    if verb == "upserts" and model.expires is not None:
        own = (*own, "PutItem")  # an expired item is replaced whole
    yield at(model, model.key, own, where)
    if model.key.was is not None:
        yield at(model, model.key, _MOVED_TO, where)
        yield at(model, model.key.was, _MOVED_FROM, where)
        guards = _TAKES_GUARDS
    for owner in dict.fromkeys((model, model.before)) if guards else ():
        if held := tuple(literal(prefix) + ANY_KEY for prefix in attached_prefixes(owner)):
            yield ResourceAccess(table_resource(owner.table), frozenset(guards), held)


def _actions(model: Model[Any], captured: Captured, is_whole: bool) -> Iterable[str]:
    """The actions that read a pattern: its own key names one item; left open, or in an index, it names a range."""
    if is_whole or captured.index is not None or captured is not model.key:
        return ("Query",)
    is_open = any(p.default is ANY for p in captured.parameters.values())
    return (*ITEM_READS, "Query") if is_open else ITEM_READS


def _attributes(model: Model[Any], captured: Captured, only: Sequence[Any]) -> tuple[str, ...]:
    """The stored names that such a read asks for: the attributes, and also the key, type, version and expiry."""
    names = list(map(_attribute_name, only))
    if unknown := [name for name in names if name not in model.by_name]:
        raise DeclarationError(f"{model.kind.__name__} has no attribute {unknown[0]!r}", table=model.table.name)
    definition = model.table.definition
    expires = () if model.expires is None else (model.expires.name,)
    stored = [model.by_name[name].stored for name in (*names, *expires)]
    keys = (*definition.key, *definition.index_keys(captured.index))
    return tuple(dict.fromkeys((*keys, *(c.stored for c in model.constants), *stored)))


def _attribute_name(attribute: Any) -> str:
    if not isinstance(attribute, Handle):
        raise DeclarationError("only= takes attributes of the class", hint="As in only=[User.name].")
    return first_name(attribute)


def _captured(pattern: Any) -> tuple[Model[Any], Captured, bool]:
    """The model, and the pattern as it was declared; whether the whole partition is read."""
    if isinstance(pattern, Bound):
        return model_of(pattern.captured.owner), pattern.captured, False
    inner = getattr(pattern, "pattern", None)
    if isinstance(inner, Bound):  # of a collection
        return model_of(inner.captured.owner), inner.captured, True
    owner, name = getattr(pattern, "__self__", None), getattr(pattern, "__name__", "")
    if isinstance(owner, type) and issubclass(owner, Entity):  # a layer's own, as Goal.by_id is
        model = model_of(owner)
        for captured in captured_of(model):
            if captured.name == name:
                return model, captured, False
    raise DeclarationError(
        f"{pattern!r} is not an access pattern", hint="Name one without calling it, as in reads(User.by_email)."
    )


def _model(kind: Any, verb: str) -> Model[Any]:
    if not (isinstance(kind, type) and issubclass(kind, Entity)):
        raise DeclarationError(f"{verb}() takes classes of entities, and was given {kind!r}")
    return model_of(kind)


def _shown(verb: str, kinds: Sequence[type[Entity]]) -> str:
    return f"{verb}({', '.join(entity_name(kind) for kind in kinds)})"
