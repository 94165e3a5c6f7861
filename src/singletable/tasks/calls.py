"""Calls: calling a function under `@tasks.task` returns a value that says what is to run.

    call = next_attempt("s1", 1)          # Call: nothing has run

Its arguments are stored by the parameters' types, as an entity's attributes are, and read back the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Generic, ParamSpec, get_type_hints

import msgspec

from singletable.errors import Corrupt, DeclarationError, InvalidValue, SingletableError
from singletable.expressions import encoded
from singletable.operations import encode
from singletable.tasks.recurrence import Recurrence
from singletable.values import SetPlan, ValuePlan, from_attribute_value, plan_for, to_attribute_value

P = ParamSpec("P")

DEFAULT_TRIES = 8
_POSITIONAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Backoff:
    """Seconds before a failed task is tried again. Half of the time is fixed, half is random."""

    first_seconds: float = 1.0
    """Before the second try; it doubles each time."""
    longest_seconds: float = 900.0

    def seconds(self, tries: int, random: float) -> float:
        """The wait after a number of tries; `random` is from 0 to 1."""
        ceiling = min(self.longest_seconds, self.first_seconds * 2.0 ** min(max(tries, 1) - 1, 60))
        return ceiling * (0.5 + random / 2)


@dataclass(frozen=True, eq=False)
class TaskFunction(Generic[P]):
    """A function whose calls are tasks. `name` is what they are stored under."""

    function: Callable[P, Any]
    name: str
    tries: int
    backoff: Backoff
    belongs_to: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The attribute of the entity whose erasure also deletes the task, by parameter."""
    recurs: Recurrence | None = None
    """When it runs by itself; None for one that runs when it is scheduled."""

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Call:
        """The call as a value. Raises InvalidValue for an argument that is not of its parameter's type."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InvalidValue(f"the arguments don't fit the task {self.name}: {error}") from None
        bound.apply_defaults()
        return Call(self, self._stored(bound.arguments))

    @property
    def is_async(self) -> bool:
        """Whether it is an `async def`, which an AsyncTaskWorker runs."""
        return inspect.iscoroutinefunction(self.function)

    def bind(self, stored: Mapping[str, Any]) -> Callable[[], Any]:
        """The function with the stored arguments. Raises Corrupt if they no longer fit its parameters."""
        given: dict[str, Any] = {}
        for name, plan in self._plans.items():
            if name in stored:
                given[name] = self._loaded(name, plan, stored[name])
        missing = [n for n, p in self._signature.parameters.items() if p.default is p.empty and n not in given]
        if missing:
            raise Corrupt(f"the stored task has no {missing[0]}", attribute=f"{self.name}.{missing[0]}", hint=_HINT)
        return partial(self.function, **given)

    def unknown_in(self, stored: Mapping[str, Any]) -> str:
        """An argument of a stored call that is not a parameter of the function; '' where all are."""
        return next((name for name in stored if name not in self._signature.parameters), "")

    @property
    def form(self) -> Mapping[str, Any]:
        """All that decides which arguments are stored, and which are taken, as JSON."""
        parameters = self._signature.parameters
        facts = ((n, plan.form, parameters[n].default is parameters[n].empty) for n, plan in self._plans.items())
        return {name: {"form": form, **({} if required else {"optional": True})} for name, form, required in facts}

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @cached_property
    def _plans(self) -> Mapping[str, ValuePlan]:
        """The plan of each parameter; made at the first call, when names in annotations are defined."""
        hints = self._hints()
        return {name: self._plan(name, hints.get(name, Any)) for name in self._signature.parameters}

    def _hints(self) -> Mapping[str, Any]:
        function = inspect.unwrap(self.function)
        try:
            return get_type_hints(getattr(function, "__func__", function), include_extras=True)
        except NameError as error:
            raise DeclarationError(
                f"a parameter's type of the task {self.name} can't be found: {error}",
                hint="Define it in the module, or import it outside `if TYPE_CHECKING`.",
            ) from None

    def _plan(self, name: str, kind: Any) -> ValuePlan:
        try:
            return plan_for(kind)
        except DeclarationError as error:
            raise DeclarationError(error.what, hint=error.hint, attribute=f"{self.name}.{name}") from None

    def stored_value(self, name: str, value: Any) -> Any:
        """A parameter's stored value. Raises InvalidValue."""
        return self._stored({name: value})[name]

    def _stored(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        stored: dict[str, Any] = {}
        for name, value in arguments.items():
            try:
                stored[name] = _free(self._plans[name], value)
            except InvalidValue as error:
                error.attribute = f"{self.name}.{name}"
                raise
        return stored

    def _loaded(self, name: str, plan: ValuePlan, value: Any) -> Any:
        try:
            # DynamoDB has no empty set: it is stored as an empty list.
            return plan.kind() if isinstance(plan, SetPlan) and value == [] else plan.load(to_attribute_value(value))
        except SingletableError as error:
            inside = f".{error.attribute}" if error.attribute else ""
            error.attribute = f"{self.name}.{name}{inside}"
            raise
        except (ValueError, LookupError, TypeError, ArithmeticError):
            # From None: the standard library's errors quote the value.
            what = f"the stored {name} does not fit its parameter's type"
            raise Corrupt(what, attribute=f"{self.name}.{name}", hint=_HINT) from None


def _free(plan: ValuePlan, value: Any) -> Any:
    if isinstance(plan, SetPlan) and isinstance(value, (set, frozenset)) and not value:
        return list[Any]()
    # Through JSON, the stored form: bytes are text there.
    return from_attribute_value(msgspec.json.decode(encode(encoded(plan, value))))


_HINT = "Let the function take what was stored, or cancel the task."


@dataclass(frozen=True)
class Call:
    """A task's function with its arguments. A value."""

    task: TaskFunction[...]
    arguments: Mapping[str, Any]

    def __repr__(self) -> str:
        """Without the arguments' values, as logs and errors show it."""
        return f"<Call of {self.task.name}({', '.join(self.arguments)})>"


def task_function(
    function: Callable[P, Any],
    name: str,
    tries: int,
    backoff: Backoff,
    belongs_to: Mapping[str, Any],
    recurs: Recurrence | None = None,
) -> TaskFunction[P]:
    """Declare a function. Raises DeclarationError if calls of it could not be stored."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in _POSITIONAL or parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise DeclarationError(
                f"the task {name} has the parameter {parameter}, which has no name to be stored under",
                hint="Give each parameter a name and a type.",
            )
    if tries < 1:
        raise DeclarationError(f"the task {name} has {tries} tries; it needs one")
    unknown = [parameter for parameter in belongs_to if parameter not in inspect.signature(function).parameters]
    if unknown:
        raise DeclarationError(f"the task {name} has no parameter {unknown[0]}, as belongs_to= says")
    required = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    if recurs is not None and required:
        raise DeclarationError(
            f"the recurring task {name} needs its {required[0]}, and nobody calls it",
            hint="Give each parameter a default. tasks.running().due is the time that a run is for.",
        )
    return TaskFunction(function, name, tries, backoff, belongs_to, recurs)
