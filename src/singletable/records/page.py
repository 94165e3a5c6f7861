"""A page: some of a query's items, and where the next ones are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, overload

from msgspec import Struct

from singletable.operations import Key
from singletable.records.cursors import Binding, CursorSeal

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

T_co = TypeVar("T_co", covariant=True)


class Position(Struct, frozen=True):
    """The position where a page ended, and the seal for it."""

    key: Key
    binding: Binding
    seal: CursorSeal
    now: float

    def __repr__(self) -> str:
        return "<Position>"

    @property
    def cursor(self) -> str:
        return self.seal.seal(self.key, self.binding, self.now)


class Page(Sequence[T_co]):
    """Some of a query's items, in key order: a sequence. `cursor` is None on the last page.

    Pydantic takes `Page[Order]` as a type, as FastAPI does in `response_model=Page[Order]`: `{"items": [...], "cursor":
    "..."}`, in JSON and in its schema.
    """

    __slots__ = ("_items", "_position")

    def __init__(self, items: Sequence[T_co], position: Position | str | None = None) -> None:
        self._items, self._position = items, position

    @property
    def items(self) -> Sequence[T_co]:
        """The items themselves, in key order."""
        return self._items

    @property
    def position(self) -> Position | str | None:
        """The start of the next page; a page that was read from JSON has the cursor itself."""
        return self._position

    @property
    def cursor(self) -> str | None:
        """The value of `page(..., after=)` for the next page: encrypted, bound to the query, valid for a day.

        Raises NotConfigured without a cursor key (on AWS, without `cursor_keys`).
        """
        at = self._position
        return at.cursor if isinstance(at, Position) else at

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        return self._items[index]

    def __iter__(self) -> Iterator[T_co]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        """Whether both are pages of the same items."""
        return list(self) == list(cast("Page[object]", other)) if isinstance(other, Page) else NotImplemented

    def as_dict(self) -> dict[str, Any]:
        """The items and the cursor, as JSON has them."""
        return {"items": list(self._items), "cursor": self.cursor}

    def __repr__(self) -> str:
        return f"Page(items={self._items!r})"

    def _repr_html_(self) -> str:
        from singletable.schema import items_html  # noqa: PLC0415 for notebooks only

        return items_html(self._items, "the last page" if self._position is None else "there is a next page")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415 pydantic is there: it asks

        (item,) = get_args(source) or (Any,)
        fields = {
            "items": core_schema.typed_dict_field(core_schema.list_schema(handler.generate_schema(item))),
            "cursor": core_schema.typed_dict_field(core_schema.nullable_schema(core_schema.str_schema())),
        }
        plain = core_schema.typed_dict_schema(fields, total=True)
        return core_schema.no_info_before_validator_function(
            _given,
            core_schema.no_info_after_validator_function(_page, plain),
            serialization=core_schema.wrap_serializer_function_ser_schema(_serialized, schema=plain),
        )


def _given(page: Any) -> Any:
    return page.as_dict() if isinstance(page, Page) else page


def _page(found: Mapping[str, Any]) -> Page[Any]:
    return Page(found["items"], found["cursor"])


def _serialized(page: Page[Any], serialize: Any) -> Any:
    return serialize(page.as_dict())
