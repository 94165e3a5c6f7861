"""Collections: a partition read by one query and grouped by the class of its items."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    ParamSpec,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import DeclarationError
from singletable.schema.bound_patterns import Bound
from singletable.schema.declaration import names_around
from singletable.schema.entities import Entity
from singletable.schema.models import model_of
from singletable.schema.patterns import Query, whole_partition
from singletable.values import split_optional

P = ParamSpec("P")
C = TypeVar("C", bound="Collection")
T_co = TypeVar("T_co", covariant=True)


class CollectionField(Struct, frozen=True):
    """One attribute of a collection: the entities of one class, one or many."""

    kind: type[Any]
    many: bool
    optional: bool


@dataclass_transform(kw_only_default=True)
class Collection:
    """A partition, grouped by the class of its items.

    class UserDetails(Collection):
        user: User                        # one; if it is missing, the result is None
        photo: Photo | None               # one or none
        memberships: list[Membership]     # any number, in key order

        by_email = collect(User.by_email)

    db.get(UserDetails.by_email("ada@example.org"))      # UserDetails | None, one query on the partition
    """

    __collection_fields__: ClassVar[Mapping[str, CollectionField]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(kw_only=True)(cls)
        names = names_around(cls)
        cls.__collection_fields__ = {
            f.name: _collection_field(cls, f.name, _evaluate(f.type, cls.__module__, names))
            for f in dataclasses.fields(cast(Any, cls))
        }


class Whole(Struct, Generic[T_co], frozen=True):
    """A partition to be read as a collection, by `db.get`."""

    kind: type[Any]
    query: Query[Any]
    """The same entities one after the other, in key order, for `db.page` and `db.iter`."""

    if TYPE_CHECKING:

        def __answers__(self) -> T_co | None: ...

    @property
    def shown(self) -> str:
        """The name of its pattern, for errors."""
        return f"{self.kind.__name__} of {self.query.shown}"

    def consistent(self) -> Whole[T_co]:
        """Read what was last written, at twice the units."""
        return replace(self, query=self.query.consistent())


class BoundCollection(Generic[P, T_co]):
    """`UserDetails.by_email`: a call returns a partition to get."""

    def __init__(self, kind: type[Any], pattern: Bound[P, Any]) -> None:
        self.kind, self.pattern, self.__doc__ = kind, pattern, kind.__doc__
        self.__signature__ = pattern.__signature__

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Whole[T_co]:
        first = self.pattern(*args, **kwargs)
        kinds = tuple(place.kind for place in self.kind.__collection_fields__.values())
        return Whole(self.kind, whole_partition(first, kinds, "a collection"))


class CollectionDeclaration(Generic[P]):
    """The object that `collect(...)` leaves in the class body."""

    def __init__(self, pattern: Bound[P, Any]) -> None:
        self.pattern = pattern

    def __get__(self, instance: object, owner: type[C]) -> BoundCollection[P, C]:
        return BoundCollection(owner, self.pattern)


def collect(pattern: Bound[P, Any]) -> CollectionDeclaration[P]:
    """`by_email = collect(User.by_email)`: the collection is read by the same arguments as its first item."""
    if not isinstance(cast("object", pattern), Bound):
        raise DeclarationError("collect() takes an access pattern of an entity, as in collect(User.by_email)")
    return CollectionDeclaration(pattern)


def _collection_field(cls: type[Any], name: str, kind: Any) -> CollectionField:
    many = get_origin(kind) is list
    inner, optional = split_optional(get_args(kind)[0] if many else kind)
    if not (isinstance(inner, type) and issubclass(inner, Entity)):
        raise DeclarationError(
            f"{cls.__name__}.{name} is declared as an entity, an entity or None, or a list of an entity"
        )
    model_of(inner)
    return CollectionField(inner, many, optional)


def _evaluate(annotation: Any, module: str, names: Mapping[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, {**vars(sys.modules[module]), **names})  # noqa: S307 the annotation's own text
