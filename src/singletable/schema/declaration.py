"""The model of an entity class, made after its class statement: its key functions captured, its options checked."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from types import CodeType
from typing import Any, cast

import msgspec
from msgspec import Struct

from singletable.errors import DeclarationError
from singletable.schema.bound_patterns import Declared, DeclaredKey
from singletable.schema.capture import sortable, type_in_key
from singletable.schema.copies import check_copies, version_fields
from singletable.schema.derived_keys import check_own_attributes
from singletable.schema.foreign import READ_ONLY_HINT, Stamp, stamps_of
from singletable.schema.key_shapes import shape_of
from singletable.schema.key_text import Template
from singletable.schema.models import Model
from singletable.schema.patterns import Captured
from singletable.schema.table import Table
from singletable.schema.told_keys import AmbiguousPattern, check_told, untold_of
from singletable.values import METADATA, Field, Role, check_within, make_field

WRITE_VERBS = ("create", "put", "update", "upsert", "delete", "write_many")
"""The verbs that write items of a class."""
_Typed = tuple[dataclasses.Field[Any], Any]
"""A field with its type."""


class Special(Struct, frozen=True):
    """A layer's additional declarations for its entity classes."""

    types: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """The key types of attributes whose declared type can't be part of a key."""
    fields: Mapping[str, Field] = msgspec.field(default_factory=dict[str, Field])
    """The attributes that are stored in another form than their type's."""
    extra: Callable[[], Sequence[Field]] = tuple
    """Fields that are read from an item in addition to the declared attributes."""
    key: Captured | None = None
    """The primary key, if it is not a key function of the class."""
    refuses: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """The verbs that are refused, each with what to do instead: they would break what the layer keeps in an item."""
    tombstone: str = ""
    """The stored attribute that marks an item as being deleted: readers treat the item as missing."""
    tombstone_hint: str = ""
    """The next step for an item that has it."""
    is_system: bool = False
    """The layer made the class for items of its own, though their type doesn't begin with an underscore."""
    prefix: str = ""
    """How the names begin under which the layer keeps more in an item. An object carries nothing undeclared then, and
    no verb writes its item whole."""
    is_admitted: bool = True
    """Whether the table takes the class in. Guards have the keys and the type that it refuses to every class."""


def make_model(
    cls: type[Any],
    table: Table,
    type: str,
    versions: tuple[int, int],
    names: dict[str, Any],
    stamp: Stamp,
    *,
    ambiguous: bool = False,
) -> None:
    """Give a class its model and its access patterns, and the table its class. `versions` are the schema's, and the one
    in whose form items are stored; `names` the local ones around the class statement; `ambiguous` lets different values
    share a key. Raises DeclarationError."""
    special = cls.__special__(table, type)
    _check_stored_as(cls, *versions, special)
    _check_since(cls, versions[0])
    evaluated = _evaluated(cls, names, strict=False)
    declared = {f.name: k for f, k in evaluated}
    is_known = not any(isinstance(kind, str) for kind in declared.values())
    names = {} if is_known else names  # the class would keep all that is in the function around it
    types: dict[str, Any] = {**declared, **special.types}
    captured = dict(_captured(cls, table, types, ambiguous=ambiguous))
    keys = {name: pattern for name, pattern in captured.items() if not pattern.is_search}
    searches: dict[str, Any] = {name: pattern for name, pattern in captured.items() if pattern.is_search}
    key, indexes = _primary_key(cls, table, keys, special), _index_keys(cls, keys)
    check_own_attributes(key, indexes, table.definition)
    check_copies(cls, table, declared)
    roles = _roles(cls)
    _check_counts(indexes, roles)
    model = Model(
        cls,
        table,
        type,
        *versions,
        key,
        indexes,
        lambda: _fields(cls, table, evaluated if is_known else _evaluated(cls, names, strict=True), special, key),
        roles,
        {n: sortable(n, types[n], f"{cls.__name__}.{n}") for n, role in roles.items() if role == "unique"},
        searches,
        types,
        read_only_verbs(table) if table.read_only else special.refuses,
        special.tombstone,
        special.tombstone_hint,
        is_system=special.is_system or type.startswith("_"),
        prefix=special.prefix,
        stamps=stamps_of(stamp, table, cls.__name__),
        is_ambiguous=ambiguous,
    )
    if searches:
        _check_searches(model, special)
    if is_known:
        _check_untold(model)  # now: DeclarationError for a type that can't be stored
    cls.__model__ = model
    attributes = _attributes(cls)
    cls.__patterns__ = {name: attributes[name].bound(pattern) for name, pattern in captured.items()}
    if special.is_admitted:
        table.admit(model)
        if model.before is not model:
            model.before.table.let_go(model.before)


def read_only_verbs(table: Table) -> Mapping[str, str]:
    """The verbs that a table's classes refuse, as it is declared to be read only."""
    return dict.fromkeys(WRITE_VERBS, f"{table.name} is declared with read_only=True. {READ_ONLY_HINT}")


def _primary_key(cls: type[Any], table: Table, captured: Mapping[str, Captured], special: Special) -> Captured:
    keys = [pattern for pattern in (*captured.values(), special.key) if pattern is not None and pattern.index is None]
    if len(keys) != 1:
        raise DeclarationError(f"{cls.__name__} has {len(keys)} functions under @{table.name}.key; it needs one")
    return keys[0]


def _index_keys(cls: type[Any], captured: Mapping[str, Captured]) -> Mapping[str, Captured]:
    indexes: dict[str, Captured] = {}
    for pattern in captured.values():
        if pattern.index in indexes:
            raise DeclarationError(
                f"{pattern.shown}: {cls.__name__} is in {pattern.index} already; an item has one key in it"
            )
        if pattern.index is not None:
            indexes[pattern.index] = pattern
    return indexes


def _check_counts(indexes: Mapping[str, Captured], roles: Mapping[str, Role]) -> None:
    """Raise DeclarationError for an index keyed by a count of writes, which each write changes in the service."""
    for pattern in indexes.values():
        counted = next((n for template in pattern.templates for n in template.names if roles.get(n) == "version"), None)
        if counted is not None:
            raise DeclarationError(
                f"{pattern.shown}: {counted} is version=True, and its count in a key would be that of the last write",
                hint="Key the index by another attribute, and filter by the count with where().",
            )


def _fields(cls: type[Any], table: Table, evaluated: Sequence[_Typed], special: Special, key: Captured) -> list[Field]:
    declared = [special.fields.get(f.name) or _field(cls, table, f, kind) for f, kind in evaluated]
    elsewhere = next((f.name for f in declared if f.is_in_key and f.name not in key.names), None)
    if elsewhere is not None:
        raise DeclarationError(
            f"{cls.__name__}.{elsewhere} is stored in the key only, and the key does not have it",
            hint=f"Put {{{elsewhere}}} into the key, or declare it without in_key=True.",
        )
    return [*declared, *special.extra(), *version_fields(cls)]


def _check_stored_as(cls: type[Any], version: int, stored_as: int, special: Special) -> None:
    """Raise DeclarationError for a version that the class doesn't have, and for a class of a layer."""
    if stored_as == version:
        return
    if not 1 <= stored_as < version:
        raise DeclarationError(f"{cls.__name__} has stored_as={stored_as}, and is of version {version}")
    if special.key is not None:
        raise DeclarationError(
            f"{cls.__name__} has stored_as={stored_as}, and its layer writes its items in one form only",
            hint="Deploy a version that reads both forms first, then one that writes the new one.",
        )


def _check_since(cls: type[Any], version: int) -> None:
    """Raise DeclarationError for an attribute that is otherwise since a version that no step leads to."""
    for declared in dataclasses.fields(cast(Any, cls)):
        since = declared.metadata.get(METADATA, {}).get("since")
        if since is not None and not 2 <= since <= version:
            raise DeclarationError(
                f"{cls.__name__}.{declared.name} is otherwise since version {since}, and the class is of version "
                f"{version}",
                hint="Raise it with the change, as in class X(Entity, ..., version=2) and field(was=..., since=2).",
            )


def _field(cls: type[Any], table: Table, declared: dataclasses.Field[Any], kind: Any) -> Field:
    try:
        made = make_field(declared.name, kind, declared)
        check_within(made.plan)
        return msgspec.structs.replace(made, stored=table.ttl_name) if made.role == "expires" else made
    except DeclarationError as error:
        error.attribute = f"{cls.__name__}.{declared.name}"
        raise


def _roles(cls: type[Any]) -> dict[str, Role]:
    """The attributes with a role for the library, by name."""
    declared = dataclasses.fields(cast(Any, cls))
    roles: dict[str, Role] = {f.name: f.metadata.get(METADATA, {}).get("role", "") for f in declared}
    found: dict[str, Role] = {name: role for name, role in roles.items() if role}
    single: tuple[Role, Role] = ("expires", "version")
    for role in single:
        if list(found.values()).count(role) > 1:
            raise DeclarationError(f"{cls.__name__} has more than one attribute that is {role}=True")
    return found


def _check_untold(model: Model[Any]) -> None:
    """Raise DeclarationError for an attribute that is not stored and that its key doesn't tell."""
    stored = {name for name, one in model.by_name.items() if one.is_written and one.stored not in model.key_attributes}
    untold = untold_of(model.key.templates)
    if untold - stored:
        raise DeclarationError(
            f"{model.key.shown}: {min(untold - stored)} is stored in its key only, which doesn't tell its value",
            table=model.table.name,
            hint="Store the attribute beside the key, or take a form that reads back.",
        )


def _check_searches(model: Model[Any], special: Special) -> None:
    """Raise DeclarationError for searches that no transaction keeps."""
    from singletable.operations import MAX_ACTIONS  # noqa: PLC0415 few classes have a search

    key = model.table.definition.key
    most = 1 + 2 * len(model.unique_types) + 2 * sum(search.most for search in model.searches.values())
    for is_so, what, hint in (
        (special.key is not None or model.is_system, "is a class of a layer", "Search records that name its items."),
        (model.before is not model, "moves from another table", "Declare the search when all items have moved."),
        (model.is_ambiguous, "has ambiguous=True", "Search a class whose keys tell their values."),
        (not (model.table.definition.has_text_keys and all(key)), "its table has keys of other kinds than texts", ""),
        (most > MAX_ACTIONS, f"could write {most} items in one transaction of {MAX_ACTIONS}", "Take fewer words."),
    ):
        if is_so:
            raise DeclarationError(f"{model.kind.__name__} has a search, and {what}", table=model.table.name, hint=hint)


def _captured(cls: type[Any], table: Table, types: Mapping[str, Any], *, ambiguous: bool) -> list[tuple[str, Captured]]:
    found: list[tuple[str, Captured]] = []
    for name, declared in _attributes(cls).items():
        where = f"{cls.__name__}.{name}"
        if isinstance(declared, staticmethod) and isinstance(declared.__func__, Declared):
            raise DeclarationError(
                f"{where}: @staticmethod is above @{table.name}.key or @{table.name}.index",
                hint="Put it below, next to the function.",
            )
        if isinstance(declared, Declared):
            shape = shape_of(table.definition, declared.index, cls, types, where)
            templates, signature = declared.capture(types, table.separator, where, shape)
            _check_types(declared.function, types, where)
            was = _old_key(cls, declared, templates, types, table)
            if was is not None:
                _check_types(was.function, types, f"{where}(was={was.declared})")
            if (search := declared.pattern) is not None:
                found.append((name, search(cls, name, declared.function, None, templates, signature)))
                continue
            plain = AmbiguousPattern if ambiguous else Captured
            made = plain if was is None else _moving(cls, declared, was, types)
            if not ambiguous:
                check_told(where, templates, primary=declared.index is None)
            elif was is not None:
                raise DeclarationError(
                    f"{where}: a class with ambiguous=True has no key that was another",
                    hint="Keep the key, or move to one that tells its values apart, without ambiguous=True.",
                )
            found.append((name, made(cls, name, declared.function, declared.index, templates, signature)))
    return found


def _attributes(cls: type[Any]) -> dict[str, Any]:
    """The attributes of a class as they stand there and in its bases, the first base's first."""
    return {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}


def _old_key(
    cls: type[Any],
    declared: Declared[...],
    templates: tuple[Template, Template],
    types: Mapping[str, Any],
    table: Table,
) -> Captured | None:
    """The key that a key was before; None for nearly all."""
    if not isinstance(declared, DeclaredKey) or declared.was is None:
        return None
    from singletable.schema.old_keys import old_key  # noqa: PLC0415 for such a key only

    return old_key(cls, declared, templates, types, table)


def _moving(cls: type[Any], declared: Any, was: Captured, types: Mapping[str, Any]) -> Callable[..., Captured]:
    """The maker of a key that was another."""
    from singletable.schema.old_keys import MovingPattern, deciding_attribute  # noqa: PLC0415 for such a key only

    decides = deciding_attribute(f"{cls.__name__}.{declared.name}", declared.doubles, types, _roles(cls))
    return partial(MovingPattern, was=was, decides=decides)


def _check_types(function: Callable[..., Any], types: Mapping[str, Any], where: str) -> None:
    """Raises DeclarationError if a parameter's type is not its attribute's, which no type checker can check."""
    for name, annotation in inspect.get_annotations(function).items():
        if name not in types or isinstance(types[name], str):
            continue
        said = _evaluate(annotation, _namespace(function.__module__, {}))
        if isinstance(said, str):
            continue
        one, other = type_in_key(said), type_in_key(types[name])
        if one is not other:
            raise DeclarationError(f"{where}: {name} is {_named(one)} here and {_named(other)} as an attribute")


def _evaluated(cls: type[Any], names: dict[str, Any], *, strict: bool) -> list[_Typed]:
    """Each field with its type. A type that doesn't exist yet stays a text, or is refused if `strict`."""
    types: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        annotations = inspect.get_annotations(base)
        around = _namespace(base.__module__, {**names, cls.__name__: cls}) if annotations else {}
        types.update((name, _evaluate(annotation, around)) for name, annotation in annotations.items())
    found = [(f, types[f.name]) for f in dataclasses.fields(cls)]
    missing = [(f.name, kind) for f, kind in found if isinstance(kind, str)]
    if strict and missing:
        name, kind = missing[0]
        raise DeclarationError(
            f"{kind!r}, the type of {cls.__name__}.{name}, can't be found",
            hint="Import it outside `if TYPE_CHECKING`, or define it in the module.",
        )
    return found


def _namespace(module: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """The names around a class. A text that was run by `exec` may be of a module that nothing else knows."""
    return {**getattr(sys.modules.get(module), "__dict__", {}), **names}


def _evaluate(annotation: Any, names: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(_expression(annotation), names)  # noqa: S307 the annotation's own text
    except (NameError, AttributeError, TypeError):
        return annotation


@lru_cache(maxsize=1024)
def _expression(annotation: str) -> CodeType:
    return compile(annotation.lstrip(), "<string>", "eval")


def _named(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))


def names_around(cls: type[Any]) -> dict[str, Any]:
    """The local names around the running class statement, for classes made in a function."""
    frame = inspect.currentframe()
    ours = ("names_around", "__init_subclass__")
    # Between them and the class statement stands the `__new__` of the metaclass's own parent, in abc.
    while frame is not None and (frame.f_code.co_name in ours or frame.f_globals.get("__name__") == "abc"):
        frame = frame.f_back
    if frame is None or frame.f_locals is frame.f_globals or cls.__module__ != frame.f_globals.get("__name__"):
        return {}
    return dict(frame.f_locals)
