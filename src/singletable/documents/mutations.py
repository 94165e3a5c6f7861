"""Mutations: named functions over a draft, and their calls as values that can be stored, sent and run again.

@Project.mutation
def move_shape(draft: Draft[Project], *, id: str, x: int, y: int) -> None: ...

move_shape(id="s1", x=3, y=4)                       # a Mutation: a name and JSON
move_shape(id="s1", x=3, y=4).by("client", 7)       # a Submission: the client's seventh
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Generic, Literal, ParamSpec, TypeVar, cast

import msgspec
from msgspec import Struct

from singletable.documents.canonical_json import JsonCodec, canonical
from singletable.documents.personal import (
    SAYS_NOTHING,
    PersonalNames,
    check_parameters,
    mentioned_in,
    says_anything,
)
from singletable.errors import DeclarationError, InvalidValue
from singletable.flow import refuse_awaitable
from singletable.values import declared_decoder, json_decoder, json_form


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The limits of each mutation of a document. Memory that a function allocates for itself can't be limited."""

    seconds: float = 10.0
    """The time that the function may run. Reading contents and calling `authorise` doesn't count."""
    argument_bytes: int = 4 << 20
    """The size of its arguments, as JSON."""
    result_bytes: int = 64 << 20
    """The size of the contents that it assigns, as JSON. An item that is assigned twice counts twice."""
    changes: int = 50_000
    """The number of items that it assigns, refers to or deletes. An item that is changed twice counts twice."""

    unknown_seconds: float = 3600.0
    """The time that a mutation with an unknown name or argument waits for a program that knows it. Then it is
    rejected."""
    ahead: int = 1000
    """The most that a client's id may be ahead of its last one that was applied or rejected."""
    waiting: int = 400
    """The mutations that may be in the inbox when one arrives that can't be applied yet: after a missing id, or with an
    unknown name or argument."""
    gap_seconds: float = 86_400.0
    """The time that mutations wait for a missing id before them. Then `collect_garbage` removes them from the inbox."""

    def __post_init__(self) -> None:
        for bound in fields(self):
            if not getattr(self, bound.name) > 0:
                raise DeclarationError(f"Bounds({bound.name}={getattr(self, bound.name)}); it is above 0")


UNBOUNDED = Bounds(seconds=3600.0, argument_bytes=1 << 62, result_bytes=1 << 62, changes=1 << 62)
"""The bounds of the library's own mutations, which can be as large as a document."""


P = ParamSpec("P")
T = TypeVar("T")
D = TypeVar("D")

MAX_ID = 10**12 - 1
MAX_TEXT_BYTES = 256
"""The limit of a mutation's name, a client's id and a principal."""
Status = Literal["applied", "rejected", "waiting"]


_ARGUMENTS = json_decoder(dict[str, msgspec.Raw])


class Ref(Struct, Generic[T], frozen=True):
    """A reference to a content in a document's blob store: `documents.store()` returns it, `items.refer()` takes it.

    As an argument of a mutation it replaces the content, which is then written only once.
    """

    blob: str = msgspec.field(name="$blob")
    """`<collection's folder>/<sha256>`."""


@dataclass(frozen=True)
class Mutation:
    """A call of a mutation: its name, and its arguments as canonical JSON."""

    name: str
    arguments: str = field(repr=False)

    @classmethod
    def of(cls, name: str, arguments: object) -> Mutation:
        """A mutation from a client, with any name and any JSON. One that can't be run is rejected when processed.

        None means without arguments: Replicache sends `"args": null` for a mutator that is called without any.
        """
        return cls(name, canonical({} if arguments is None else arguments).decode())

    def by(self, client: str, id: int, *, principal: str | None = None) -> Submission:
        """This mutation as a client's submission. A client's ids count from 1 without gaps. `principal` is the user who
        is responsible for it."""
        return Submission(self, client, id, principal)


@dataclass(frozen=True)
class Submission:
    """A client's numbered mutation."""

    mutation: Mutation
    client: str
    id: int
    principal: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(cast("object", self.id), bool) or not 1 <= self.id <= MAX_ID:
            raise InvalidValue(f"a mutation's id is from 1 to {MAX_ID}", attribute="id")
        _check_text("a mutation's name", self.mutation.name, "name")
        _check_text("a client's id", self.client, "client")
        if self.principal is not None:
            _check_text("a principal", self.principal, "principal")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a mutation."""

    client: str
    id: int
    name: str
    status: Status
    """`waiting`: it is in the inbox; an id before it is missing, or no processor has run yet."""
    version: int | None = None
    error: str | None = field(default=None, repr=False)
    """Why it was rejected."""


def _check_text(what: str, text: str, attribute: str) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidValue(f"{what} holds a lone surrogate", attribute=attribute) from None
    if not 0 < size <= MAX_TEXT_BYTES:
        raise InvalidValue(f"{what} has 1 to {MAX_TEXT_BYTES} bytes, not {size}", attribute=attribute)


class Mutator(Generic[P, D]):
    """A mutation's function. A call with its arguments returns a `Mutation`; the function is not run."""

    def __init__(
        self,
        function: Callable[..., None],
        name: str,
        where: str,
        around: Mapping[str, Any],
        names: PersonalNames | None = None,
    ) -> None:
        self.function, self.name, self.where = function, name, where
        self._around: Mapping[str, Any] = around if "<locals>" in getattr(function, "__qualname__", "") else {}
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", name)
        self.__qualname__ = getattr(function, "__qualname__", name)
        self.__module__ = function.__module__
        signature = inspect.signature(function)
        _, *rest = signature.parameters.values()
        self.__signature__ = signature.replace(parameters=rest, return_annotation=Mutation)
        self.names, self._declares = names or SAYS_NOTHING, names is not None
        check_parameters(where, self.names, self.__signature__.parameters)

    def __repr__(self) -> str:
        return f"<mutation {self.name}>"

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Mutation:
        """The call as a value. InvalidValue for arguments of a wrong type, TypeError for missing or extra ones."""
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            wanted = self.__signature__.replace(return_annotation=inspect.Signature.empty)
            raise TypeError(f"{self.where}: {error}. It takes {wanted}.") from None
        bound.apply_defaults()
        return Mutation(self.name, self._codec.encode(dict(bound.arguments)).decode())

    def run(self, draft: Any, arguments: str) -> None:
        """Run the function on a draft. Raises InvalidValue for arguments of a wrong type."""
        result: object = self.function(draft, **self.read(arguments))
        refuse_awaitable(result, self.where)

    def read(self, arguments: str) -> Mapping[str, Any]:
        struct = self.decode(arguments)
        return {name: getattr(struct, name) for name in struct.__struct_fields__}

    def decode(self, arguments: str) -> Any:
        """The arguments as a struct of its parameters. Raises InvalidValue for arguments of a wrong type."""
        try:
            return self._decode(arguments.encode())
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            raise InvalidValue(
                f"the arguments of {self.name} are not what it takes",
                operation=self.name,
                hint="Send one object with a member for each parameter that has no default, of its type.",
            ) from None

    @cached_property
    def says_personal(self) -> bool:
        """Whether it is declared what in its arguments is personal, if anything."""
        return self._declares or says_anything(self._struct)

    @cached_property
    def mentioned(self) -> list[Any]:
        """The attributes of entities by which its arguments mention somebody."""
        return [*self.names.mentions.values(), *mentioned_in(self._struct)]

    def unknown_in(self, arguments: str) -> str | None:
        """An argument that no parameter takes: a newer program's, or a mistake. Not one that begins with `$`, by which
        the library refuses a mutation."""
        try:
            given = _ARGUMENTS.decode(arguments)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return None  # refused when it is run
        parameters = self.__signature__.parameters
        return next((name for name in given if name not in parameters and not name.startswith("$")), None)

    @property
    def form(self) -> Any:
        """All that decides which arguments are stored, and which are taken, as JSON."""
        return json_form(self._struct, self.where)

    @cached_property
    def _struct(self) -> Any:
        """Computed at first use, when the types of the parameters exist."""
        fields: list[Any] = []
        for name, parameter in self.__signature__.parameters.items():
            kind = self._type_of(name, parameter)
            if parameter.default and isinstance(parameter.default, (list, dict, set)):
                raise DeclarationError(
                    f"{self.where}: the default of {name} is a collection that any run could change",
                    hint="Say None, and make it in the function; an empty one may stand.",
                )
            fields.append((name, kind) if parameter.default is parameter.empty else (name, kind, parameter.default))
        return msgspec.defstruct(f"{self.name}Arguments", fields, forbid_unknown_fields=True, kw_only=True, gc=False)

    def _type_of(self, name: str, parameter: inspect.Parameter) -> Any:
        annotation = parameter.annotation
        if not isinstance(annotation, str):
            return Any if annotation is parameter.empty else annotation
        try:
            return eval(annotation, {**getattr(self.function, "__globals__", {}), **self._around})  # noqa: S307 its own text
        except NameError:
            raise DeclarationError(
                f"{self.where}: {annotation!r}, the type of {name}, can't be found",
                hint="Import it outside `if TYPE_CHECKING`.",
            ) from None

    @cached_property
    def _codec(self) -> JsonCodec[Any]:
        return JsonCodec(self._struct, self.where)

    @cached_property
    def _decode(self) -> Any:
        return declared_decoder(self._struct, self.where).decode


def make_mutator(
    kind: type[Any],
    mutators: dict[str, Mutator[..., Any]],
    function: Callable[..., None],
    name: str | None,
    around: Mapping[str, Any],
    names: PersonalNames | None = None,
) -> Mutator[..., Any]:
    """The mutator of a function, registered with its class. `around` has the local names where it is defined."""
    own = name or getattr(function, "__name__", "")
    where = f"{kind.__name__}, mutation {own}"
    if inspect.iscoroutinefunction(function):
        raise DeclarationError(
            f"{where}: a mutation is a plain function", hint="It changes its draft, and waits for nothing."
        )
    if not own or own.startswith("$"):
        raise DeclarationError(f"{where}: a name that begins with '$' is the library's own")
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters:
        raise DeclarationError(f"{where}: its first parameter is the draft")
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise DeclarationError(f"{where}: {parameter.name} has no name in JSON", hint="Name each parameter.")
    mutator: Mutator[..., Any] = Mutator(function, own, where, around, names)
    known = mutators.get(own)
    if known is not None and (known.__module__, known.__qualname__) != (mutator.__module__, mutator.__qualname__):
        raise DeclarationError(f"{where}: there is another mutation of that name", hint="Name it: mutation(name=...).")
    mutators[own] = mutator
    return mutator
