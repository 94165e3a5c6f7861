"""Access patterns: a key function is run once, with placeholders, and its f-strings become key templates.

`Contact.by_domain("d1")` is then a typed call that returns a `Query`, an immutable value. No request is sent until it
is passed to a database.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NoReturn, ParamSpec, Protocol, Self, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest, InvalidValue
from singletable.expressions import Condition, Handle
from singletable.schema.capture import ANY
from singletable.schema.key_bounds import Range, one_period, open_sort, shard_texts
from singletable.schema.key_text import Template, key_function
from singletable.schema.reads import Every, HasId, I_co, query_html
from singletable.values import TOP, Source, name_owner

if TYPE_CHECKING:
    from singletable.schema.models import Model

P = ParamSpec("P")
E = TypeVar("E", bound="HasPatterns")
F = TypeVar("F", bound="HasPatterns")
E_co = TypeVar("E_co", covariant=True)
Key = tuple[str, str]
"""The result of a key function: the texts of the partition key and of the sort key."""
Answers = Literal["items", "keys", "items by key", "items by word"]
"""The answers of a query: items; their keys alone; the items that the table has under these; or items with words."""


class HasPatterns(Protocol):
    """The part of an entity class that patterns use."""

    __patterns__: ClassVar[Mapping[str, Any]]

    @classmethod
    def __pattern__(cls, name: str) -> Any: ...


class Query(Struct, Generic[E_co], frozen=True, gc=False):
    """The items of one partition, of a table or of one of its indexes, whose sort key lies in a range. A value."""

    kinds: tuple[type[Any], ...]
    captured: Captured
    partition: str
    low: str
    high: str
    bound: int
    """The number of given parts of the sort key. The range is over the next one."""
    filter: Condition | None = None
    descending: bool = False
    strong: bool = False
    attributes: tuple[str, ...] = ()
    shards: tuple[str, ...] = ()
    """The partition keys of all shards, where it reads them: `partition` names them together then, and is none."""
    has_parts: ClassVar[bool] = False
    """Its items come by a flow of their own, of more than one request: of a `MovingKey`, of a hydrated query, and of a
    search."""
    answers: ClassVar[Answers] = "items"

    if TYPE_CHECKING:

        def __answers__(self) -> list[E_co]: ...

    @property
    def model(self) -> Model[Any]:
        """The model of the class that the pattern belongs to: of a key's item, and of a query's first class."""
        return self.captured.model

    @property
    def index(self) -> str | None:
        """The index that is read; None for the table itself."""
        return self.captured.index

    @property
    def shown(self) -> str:
        """The pattern, without values, for errors and logs."""
        return f"{self.captured.shown} {' / '.join(t.shown for t in self.captured.templates)}"

    def __repr__(self) -> str:
        """Shows no values, as it appears in logs and errors."""
        return f"<{', '.join((f'{type(self).__name__} {self.shown}', *self.said))}>"

    @property
    def said(self) -> tuple[str, ...]:
        """The options of a query, without values: `newest first`, `only name`."""
        told = (
            (len(self.kinds) > 1, f"with {', '.join(kind.__name__ for kind in self.kinds[1:])}"),
            (self.filter is not None, "filtered"),
            (self.descending, "newest first"),
            (self.strong, "consistent"),
            (bool(self.attributes), f"only {', '.join(self.attributes)}"),
            (bool(self.shards), f"{len(self.shards)} shards"),
        )
        return tuple(text for is_so, text in told if is_so)

    def _repr_html_(self) -> str:
        """The items that it reads, and the way: without values, as its repr."""
        return query_html(self)

    @property
    def parts(self) -> tuple[Query[Any], ...]:
        """The queries of one partition each that it reads: itself, for most; a query of each shard."""
        return (self,) if not self.shards else tuple(replace(self, partition=p, shards=()) for p in self.shards)

    @property
    def is_one_key(self) -> bool:
        """Whether it names one item, by its whole key: not where it reads several partitions."""
        return self.low == self.high and not self.shards

    @property
    def texts(self) -> tuple[str, ...]:
        """The stored texts of a whole primary key, of which its hash is made; () for what names no single item."""
        if not self.is_one_key or self.index is not None:
            return ()
        return (self.partition, self.low)

    def where(self, condition: Condition) -> Query[E_co]:
        """Only items that also meet a condition. A filter: what it leaves out is still read and paid for."""
        both = condition if self.filter is None else self.filter & condition
        return replace(self, filter=both)

    def newest_first(self) -> Query[E_co]:
        """In descending order of the sort key."""
        return replace(self, descending=True)

    def consistent(self) -> Self:
        """Read consistently, at twice the units. On the table itself, or a local index; never on a global one."""
        if self.index is not None and not self.model.table.definition.may_be_consistent(self.index):
            raise InvalidRequest(
                f"{self.captured.shown} reads index {self.index}, which is never consistent",
                hint="Read through the table's own key, or omit consistent().",
            )
        return replace(self, strong=True)

    def only(self, *attributes: Any) -> Self:
        """Load these attributes only: `only(User.name)`. The others raise AttributeError when read."""
        names = tuple(_attribute_name(a, self.kinds) for a in attributes)
        if not names:
            raise InvalidRequest("only() takes at least one attribute")
        return replace(self, attributes=names)

    def keys(self) -> Query[KeyOf[E_co]]:
        """The keys of the items alone, at the same units: whatever an index holds, it holds these."""
        query: Query[KeyOf[E_co]] = _made_by_key(self, KeysQuery)
        return query

    def hydrated(self) -> Query[E_co]:
        """The items as the table has them, by their keys in the index: for an index that holds less than they have.

        One round trip more for up to 1,600, at half a read unit for each 4 KB of each item. One that was deleted since
        is left out, and so is one whose attributes make no key in the range any more.
        """
        query: Query[E_co] = _made_by_key(self, HydratedQuery)
        return query

    def also(self, kind: type[F]) -> Query[E_co | F]:
        """The whole partition: these, and that partition's items of `kind`, in key order.

        InvalidRequest where the sort key has a value or a range: of a whole partition it would be dropped.
        """
        return whole_partition(self, (*self.kinds, kind), "also(...)")


class KeyOf(Query[E_co], frozen=True, gc=False):
    """The primary key of one item (and, with ANY or a range in its sort key, a query)."""

    if TYPE_CHECKING:

        def __answers__(self) -> E_co | None: ...  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]

    def every(self) -> Every[E_co]:
        """All that the key names where its sort key has ANY or a range, for `db.together`."""
        return Every(self)

    @property
    def id(self: KeyOf[HasId[I_co]]) -> I_co:
        """The `id` that the key was made of, as that of an edge's end: `edge.source.id`."""
        values: Mapping[str, Any] = self.model.key_values(self)
        if "id" not in values:
            raise AttributeError(f"{self.captured.shown} has no id among its attributes", name="id", obj=self)
        return cast("I_co", values["id"])


class KeysQuery(Query[KeyOf[E_co]], frozen=True, gc=False):
    """The keys of a query's items, in its order."""

    answers: ClassVar[Answers] = "keys"

    @property
    def said(self) -> tuple[str, ...]:
        return (*super().said, "keys alone")

    def only(self, *attributes: Any) -> NoReturn:
        raise _unlike(self, "only(...)", "keys()")

    def also(self, kind: type[Any]) -> NoReturn:
        raise InvalidRequest(
            f"{self.captured.shown}: keys() answers the keys of classes that were named before",
            hint="Put also(...) before keys().",
        )


class HydratedQuery(Query[E_co], frozen=True, gc=False):
    """The items as the table has them, under the keys that a query answers."""

    answers: ClassVar[Answers] = "items by key"
    has_parts: ClassVar[bool] = True

    @property
    def said(self) -> tuple[str, ...]:
        return (*super().said, "hydrated")

    @property
    def parts(self) -> tuple[Query[Any], ...]:
        """The query of the keys."""
        parts: tuple[Query[Any], ...] = _made_by_key(self, KeysQuery).parts
        return parts

    def only(self, *attributes: Any) -> NoReturn:
        raise _unlike(self, "only(...)", "hydrated()")


def whole_partition(query: Query[Any], kinds: tuple[type[Any], ...], verb: str) -> Query[Any]:
    """A query of all items of the partition that are of some classes. InvalidRequest where it has less."""
    sort = query.captured.templates[1]
    names = [part.slot.name for part in sort.parts if part.slot]
    prefix = sort.prefix({})
    if query.bound >= 0 and names and (query.low, query.high) != (prefix, prefix + TOP):
        raise InvalidRequest(
            f"{query.captured.shown}: {verb} reads the whole partition, and {names[0]} is given, which is a part of it",
            hint=f"Leave {names[0]} out, or give ANY for it. Several reads at once are db.together(...).",
        )
    return replace(query, kinds=kinds, low="", high=TOP, bound=-1)


def _made_by_key(query: Query[Any], kind: type[Query[Any]]) -> Any:
    """The same query, of another kind of answers. InvalidRequest for one whose answers are settled already."""
    if query.attributes:
        raise _unlike(query, "only(...)", "keys() or hydrated()")
    if query.has_parts and query.answers == "items":
        raise InvalidRequest(
            f"{query.captured.shown} reads several partitions, whose keys are not answered alone",
            hint="Read the items: the keys are theirs, key_of(item).",
        )
    common = query.kinds, query.captured, query.partition, query.low, query.high, query.bound
    return kind(*common, query.filter, query.descending, query.strong, shards=query.shards)


def _unlike(query: Query[Any], one: str, other: str) -> InvalidRequest:
    return InvalidRequest(
        f"{query.captured.shown}: {one} loads some attributes, and {other} none of the index's",
        hint=f"Omit {one}, or read the index without {other}.",
    )


def _attribute_name(attribute: Any, kinds: tuple[type[Any], ...]) -> str:
    if not isinstance(attribute, Handle):
        raise InvalidRequest("only() takes attributes of the class, as in only(User.name)")
    owner, path = attribute.__dict__["_owner"], attribute.__dict__["_path"]
    if len(path) != 1 or not all(issubclass(kind, owner) for kind in kinds):
        raise InvalidRequest(f"{attribute} is not an attribute of what is read", attribute=str(attribute))
    return str(path[0])


class Captured(Struct, frozen=True, eq=False, dict=True):
    """A pattern on one class, as `explain`, `patterns` and the catalogue use it."""

    owner: type[Any]
    name: str
    function: Callable[..., Key | str]
    index: str | None
    templates: tuple[Template, Template]
    signature: inspect.Signature
    was: Captured | None = None
    """The key under which items lie that have not moved to this one yet."""
    table: Any = None
    """The other `Table` of a key that the class had before, if it moves between tables."""
    is_search: ClassVar[bool] = False
    """Whether it finds items by their words, and not by a key of theirs."""
    moved_attributes: ClassVar[frozenset[str]] = frozenset()
    """The attributes of the table's key that items which have not moved have otherwise."""

    @cached_property
    def model(self) -> Model[Any]:
        """The model of the items under this key: that of the owner class, which is made after the patterns; or, in
        another table, that of the items that have not moved."""
        found: Model[Any] = self.owner.__model__
        return found if self.table is None else found.before

    @cached_property
    def partition_attribute(self) -> str:
        """The attribute that names the partition of its items."""
        return self.model.table.definition.index_keys(self.index)[0]

    @cached_property
    def carries_context(self) -> bool:
        """Whether an item under this key may hold the context of a trace: in a table whose stream tells its changes.
        The library's own items have their own place for it, and another program's have none."""
        definition = self.model.table.definition
        return definition.stream is not None and not definition.foreign and not self.model.type.startswith("_")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it by its class: no name leads to the functions that it holds."""
        return _captured_of, (self.owner, self.name, self.owner.__model__.key.was is self)

    @property
    def shown(self) -> str:
        return f"{self.owner.__name__}.{self.name}"

    @property
    def call(self) -> str:
        """A call of it, as the code says it: `User.by_email(email)`."""
        return f"{self.shown}({', '.join(self.parameters)})"

    @property
    def declared(self) -> str:
        """A key that the class had before, as `was=` says it."""
        return self.name if self.table is None else f"{self.table.name}.key({self.name})"

    @property
    def shown_with_was(self) -> str:
        """With the key that it was, as the code says it: `Order.of_customer(was=order_by_number)`."""
        return self.shown if self.was is None else f"{self.shown}(was={self.was.declared})"

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        return self.signature.parameters

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.parameters)

    @cached_property
    def spread(self) -> str:
        """The attribute whose shard is in the partition key; empty if there is none."""
        slot = self.templates[0].spread
        return "" if slot is None else slot.name

    @property
    def fixed(self) -> frozenset[str]:
        """The attributes of the partition key, of which a query takes one value each."""
        return frozenset(self.templates[0].names) - {self.spread}

    def query(self, result: type[Query[Any]], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        given = self._bind(args, kwargs)
        try:
            for value in given.values():
                if value is ANY or value.__class__ is Range:
                    return self._open(result, given)
            partition, sort = self.templates
            text, whole = partition.write(given), sort.write(given)
        except InvalidValue as error:
            if error.operation is None:
                error.operation = self.shown
            name_owner(error, self.owner)
            raise
        return result((self.owner,), self, text, whole, whole, len(sort.parts))

    def direct(self, result: type[Query[Any]]) -> Callable[..., Any]:
        """`query` for one value of every parameter, in order."""
        source = Source()
        place_of = {name: f"a{n}" for n, name in enumerate(self.names)}
        given = ", ".join(place_of.values())
        query, kinds = source.bind(result, "result"), source.bind((self.owner,), "kinds")
        captured, bound = source.bind(self, "captured"), len(self.templates[1].parts)
        explain, mistake = source.bind(self.query, "query"), source.bind(InvalidValue, "error")
        key = f"{query}({kinds}, {captured}, partition, sort, sort, {bound})"
        explained = f"{explain}({query}, [{given}], {{}})"  # a range, ANY, or a mistake: `query` knows which
        return key_function(source, self.templates, given, place_of.__getitem__, key, mistake, explained)

    def of_objects(
        self, result: type[Query[Any]], kind: type[Any], explain: Callable[[Any], Any]
    ) -> Callable[[Any], Any]:
        """The key of an object's own attributes; `explain` is called where one is missing or does not fit."""
        source = Source()
        query, kinds, captured = (source.bind(it, "it") for it in (result, (kind,), self))
        mistakes, explained = source.bind((InvalidValue, AttributeError), "mistakes"), source.bind(explain, "explain")
        key = f"{query}({kinds}, {captured}, partition, sort, sort, {len(self.templates[1].parts)})"
        return key_function(source, self.templates, "o", lambda name: f"o.{name}", key, mistakes, f"{explained}(o)")

    def _open(self, result: type[Query[Any]], given: dict[str, Any]) -> Query[Any]:
        """With a range, or every value, for some part of the sort key, or for the shard."""
        partition, sort = self.templates
        open_ = [name for name, value in given.items() if value is ANY or value.__class__ is Range]
        values = given
        for name in partition.names:
            if name in open_ and name != self.spread:
                values = {**values, name: self._in_one_period(name, given[name])}
        asked = open_sort(self, given, next((name for name in sort.names if name in open_), None))
        texts = shard_texts(self, values) if self.spread in open_ else (partition.write(values),)
        text, shards = (texts[0], ()) if self.spread not in open_ else (f"{texts[0]} of {len(texts)}", texts)
        return result((self.owner,), self, text, asked.low, asked.high, asked.part, asked.filter, shards=shards)

    def _in_one_period(self, name: str, wanted: Any) -> Any:
        partition, sort = self.templates
        value = one_period(partition, name, wanted) if name in sort.names else None
        if value is None:
            slots = (slot for _, slot in partition.segments if slot and slot.name == name)
            or_ = ", or a range within one of its periods" if any(s.key_type.is_truncated for s in slots) else ""
            raise InvalidRequest(f"{self.shown}: {name} is part of the partition key and must be one value{or_}")
        return value

    def _bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, omitted ones as ANY. Does what `Signature.bind` does, in a tenth of its time."""
        names = self.names
        given = dict(zip(names, args, strict=False))
        if kwargs:
            for name in kwargs:
                if name in given or name not in self.parameters:
                    raise TypeError(f"{self.shown}() got an unexpected argument {name!r}")
            given |= kwargs
        if len(args) > len(names):
            raise TypeError(f"{self.shown}() takes {len(names)} arguments, not {len(args)}")
        if len(given) < len(names):
            for name, parameter in self.parameters.items():
                if name not in given:
                    if parameter.default is parameter.empty:
                        raise TypeError(f"{self.shown}() is missing the argument {name!r}")
                    given[name] = ANY
        return given


def _captured_of(owner: Any, name: str, is_old: bool) -> Captured:
    model: Model[Any] = owner.__model__
    others = (*model.indexes.values(), *model.searches.values(), *owner.__readers__())
    places: list[Any] = [model.key.was] if is_old else [model.key, *others]
    found: Captured = next(captured for captured in places if captured.name == name)
    return found
