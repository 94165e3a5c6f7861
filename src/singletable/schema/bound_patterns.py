"""Patterns as a class has them, as `Contact.by_domain`: a call returns a query."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic

from singletable.schema.capture import capture
from singletable.schema.key_shapes import KeyShape
from singletable.schema.key_text import Template
from singletable.schema.patterns import Captured, E, E_co, Key, KeyOf, P, Query


class Bound(Generic[P, E_co]):
    """`Contact.by_domain`: a call returns a query."""

    result: type[Query[Any]] = Query

    def __init__(self, captured: Captured) -> None:
        self.captured = captured
        self.__name__, self.__doc__ = captured.name, captured.function.__doc__
        self.__qualname__ = f"{captured.owner.__qualname__}.{captured.name}"
        self.__module__ = captured.owner.__module__
        answer = f"{self.result.__name__}[{captured.owner.__name__}]"
        self.__signature__ = captured.signature.replace(return_annotation=answer)
        self._count = len(captured.parameters)
        self._direct: Callable[..., Any] = self._first

    def __repr__(self) -> str:
        return f"<{self.__qualname__}{self.__signature__}>"

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Query[E_co]:
        whole = not kwargs and len(args) == self._count
        made: Query[E_co] = self._direct(*args) if whole else self.captured.query(self.result, args, kwargs)
        return made

    def _first(self, *args: Any) -> Any:
        """The first call compiles the function for all others: many patterns of a program are never called."""
        self._direct = self.captured.direct(self.result)
        return self._direct(*args)


class BoundKey(Bound[P, E_co]):
    """`Contact.by_id`: a call returns a key."""

    result = KeyOf

    if TYPE_CHECKING:

        def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> KeyOf[E_co]: ...


class Declared(Generic[P]):
    """The object that `@app.index("gsi1")` leaves in the class body. Read on the class, it is a `Bound`."""

    bound: type[Any] = Bound
    pattern: type[Captured] | None = None
    """The class of its pattern, where it is not a key's."""

    def __init__(self, function: Callable[P, Any], index: str | None) -> None:
        self.function, self.index = function, index

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name

    def capture(
        self, types: Mapping[str, Any], separator: str, where: str, shape: KeyShape | None = None
    ) -> tuple[tuple[Template, Template], inspect.Signature]:
        """The templates of its key, and the signature of its call; DeclarationError. `types` are the attributes."""
        templates = capture(self.function, types, separator, where, primary=self.index is None, shape=shape)
        return templates, inspect.signature(self.function)

    def __get__(self, instance: object, owner: type[E]) -> Bound[P, E]:
        found: Any = owner.__patterns__.get(self.name) or owner.__pattern__(self.name)
        return found  # type: ignore[no-any-return]


class DeclaredKey(Declared[P]):
    bound = BoundKey
    doubles: Any = "refuse"

    def __init__(
        self, function: Callable[P, Any], table: Any, was: Callable[..., Key] | DeclaredKey[...] | None = None
    ) -> None:
        super().__init__(function, None)
        self.table, self.was = table, was

    def __get__(self, instance: object, owner: type[E]) -> BoundKey[P, E]:
        found: Any = owner.__patterns__.get(self.name) or owner.__pattern__(self.name)
        return found  # type: ignore[no-any-return]
