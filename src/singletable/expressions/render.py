"""From conditions and updates to DynamoDB's texts, names and values.

One `Expressions` serves all texts of a request: a name or value used twice has one placeholder. Limits (AWS,
"Quotas"): 4 KB a text, 300 operators, 100 values of IN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from singletable.errors import InvalidRequest, InvalidValue
from singletable.expressions.conditions import Condition, Size, Update
from singletable.expressions.handles import Handle, Path, resolve
from singletable.values import AttributeValue, Plan
from singletable.values.plans import INTEGER, TEXT, ListPlan, Source

MAX_TEXT_BYTES = 4096
MAX_OPERATORS = 300
MAX_IN = 100
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})


class Stored(Struct, frozen=True):
    """A top-level attribute by its stored name: for the library's own attributes, which no class declares."""

    name: str


class Given(Struct, frozen=True):
    """An attribute value as it is."""

    value: AttributeValue


class Expressions:
    """Collects the placeholders of one request and renders its texts."""

    def __init__(self, kinds: tuple[type[Any], ...] = ()) -> None:
        self.kinds = kinds
        """The entity classes whose attributes may be named; empty for any."""
        self._names: dict[str, str] = {}
        self._values: dict[str, AttributeValue] = {}
        self._operators = 0

    @property
    def names(self) -> Mapping[str, str]:
        """Placeholder to stored name."""
        return {placeholder: name for name, placeholder in self._names.items()}

    @property
    def values(self) -> Mapping[str, AttributeValue]:
        return self._values

    def name(self, stored: str) -> str:
        return self._names.setdefault(stored, f"#{len(self._names)}")

    def value(self, value: AttributeValue) -> str:
        placeholder = f":{len(self._values)}"
        self._values[placeholder] = value
        return placeholder

    def path(self, steps: Sequence[str | int]) -> str:
        text = ""
        for step in steps:
            text += f"[{step}]" if isinstance(step, int) else f"{'.' if text else ''}{self.name(step)}"
        return text

    def condition(self, condition: Condition) -> str:
        """The text of a condition, checked against the limits."""
        text = self._condition(condition)
        if len(text) > MAX_TEXT_BYTES or self._operators > MAX_OPERATORS:
            raise InvalidRequest(
                f"a condition of {self._operators} operators and {len(text)} bytes; "
                f"DynamoDB takes {MAX_OPERATORS} and {MAX_TEXT_BYTES}",
                hint="Split the call.",
            )
        return text

    def update(self, updates: Iterable[Update], extra: Iterable[Change] = ()) -> str:
        """The text of an update: the caller's changes and the library's own."""
        clauses: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
        seen: list[tuple[str | int, ...]] = []
        for update in updates:
            path = resolve(update.path, self.kinds)
            _refuse_overlap(update.path, path.stored, seen)
            verb, text = self._update(update, path)
            clauses[verb].append(text)
        for change in extra:
            if change.value is None:
                clauses["REMOVE"].append(self.name(change.name))
            else:
                clauses["SET"].append(f"{self.name(change.name)} = {change.text(self)}")
        return " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses.items() if parts)

    def projection(self, stored: Iterable[str]) -> str:
        return ", ".join(self.name(name) for name in stored)

    # --- conditions -------------------------------------------------------------------------------------------------
    def _condition(self, condition: Condition) -> str:
        how, operands = condition.how, condition.operands
        self._operators += len(operands) - 1 if how in ("AND", "OR") else 1
        if how in ("AND", "OR"):
            return f"({f' {how} '.join(self._condition(c) for c in operands)})"
        if how == "NOT":
            inner = self._condition(operands[0])
            # DynamoDB refuses redundant parentheses; a text that begins with one has them around the whole.
            return f"NOT {inner}" if inner.startswith("(") else f"NOT ({inner})"
        left, plan, optional = self._left(operands[0])
        if how in _COMPARISONS:
            return self._comparison(how, left, plan, optional, operands[1])
        if how == "BETWEEN":
            low, high = (self._operand(v, plan, operands[0]) for v in operands[1:])
            return f"{left} BETWEEN {low} AND {high}"
        if how == "IN":
            return self._is_in(left, plan, operands)
        if how in ("attribute_exists", "attribute_not_exists"):
            return f"{how}({left})"
        if how == "contains":
            plan = getattr(plan, "element", plan)
        return f"{how}({left}, {self._operand(operands[1], plan, operands[0])})"

    def _left(self, operand: Any) -> tuple[str, Plan, bool]:
        if isinstance(operand, Handle):
            path = resolve(operand, self.kinds)
            return self.path(path.stored), path.plan, path.optional
        if isinstance(operand, Size):
            return f"size({self.path(resolve(operand.handle, self.kinds).stored)})", INTEGER, False
        assert isinstance(operand, Stored)
        return self.name(operand.name), TEXT, False

    def _comparison(self, how: str, left: str, plan: Plan, optional: bool, value: Any) -> str:
        absent = value is None or (plan.is_set and not value)
        if absent and how == "=":
            return f"(attribute_not_exists({left}) OR attribute_type({left}, {self.value({'S': 'NULL'})}))"
        if absent and how == "<>":
            return f"(attribute_exists({left}) AND NOT attribute_type({left}, {self.value({'S': 'NULL'})}))"
        return f"{left} {how} {self._operand(value, plan, None)}"

    def _is_in(self, left: str, plan: Plan, operands: tuple[Any, ...]) -> str:
        values = operands[1:]
        if not 1 <= len(values) <= MAX_IN:
            raise InvalidRequest(f"is_in() takes 1 to {MAX_IN} values, not {len(values)}", attribute=repr(operands[0]))
        return f"{left} IN ({', '.join(self._operand(v, plan, operands[0]) for v in values)})"

    def _operand(self, value: Any, plan: Plan, handle: Any) -> str:
        if isinstance(value, Given):
            return self.value(value.value)
        return self.value(encoded(plan, value, handle))

    # --- updates ----------------------------------------------------------------------------------------------------
    def _update(self, update: Update, path: Path) -> tuple[str, str]:
        verb, value, left = update.verb, update.value, self.path(path.stored)
        if verb == "REMOVE" and not path.optional:
            raise InvalidValue("only an attribute that may be None can be removed", attribute=repr(update.path))
        if verb == "REMOVE" or (verb == "SET" and _is_absence(update, path)):
            return "REMOVE", left
        if verb == "APPEND":
            if not isinstance(path.plan, ListPlan):
                raise InvalidRequest("only a list can be appended to", attribute=repr(update.path))
            return "SET", self._append(left, encoded(path.plan, value, update.path))
        if path.plan.is_set and verb in ("ADD", "DELETE"):
            return verb, self._members(update, path, left)
        if verb == "ADD" and not path.is_top:
            zero = self.value({"N": "0"})
            return "SET", f"{left} = if_not_exists({left}, {zero}) + {self._operand(value, path.plan, update.path)}"
        text = self._operand(value, path.plan, update.path)
        return verb, f"{left} {text}" if verb == "ADD" else f"{left} = {text}"

    def _append(self, left: str, value: AttributeValue) -> str:
        empty = self.value({"L": []})
        return f"{left} = list_append(if_not_exists({left}, {empty}), {self.value(value)})"

    def _members(self, update: Update, path: Path, left: str) -> str:
        if not path.is_top:
            raise InvalidRequest(
                "DynamoDB adds to and takes from a set at the top of an item only", attribute=repr(update.path)
            )
        if not update.value:
            raise InvalidRequest("include() and exclude() take at least one member", attribute=repr(update.path))
        return f"{left} {self._operand(update.value, path.plan, update.path)}"


class Change(Struct, frozen=True):
    """A change of the library's own: an index key, a version. A value of None removes the attribute."""

    name: str
    value: AttributeValue | None
    plus: AttributeValue | None = None
    """Added to the stored number, or to `value` where there is none."""
    keep: bool = False
    """Only where the attribute is not there yet."""

    def text(self, expressions: Expressions) -> str:
        assert self.value is not None
        if self.plus is not None or self.keep:
            there = f"if_not_exists({expressions.name(self.name)}, {expressions.value(self.value)})"
            return f"{there} + {expressions.value(self.plus)}" if self.plus is not None else there
        return expressions.value(self.value)


def encoded(plan: Plan, value: Any, handle: Any = None) -> AttributeValue:
    """A value as its attribute stores it; InvalidValue names the attribute."""
    try:
        return _writer(plan)(value)  # type: ignore[no-any-return]
    except InvalidValue as error:
        if handle is not None and error.attribute is None:
            error.attribute = repr(handle)
        raise


def words(condition: Condition) -> str:
    """A condition for people, its values left out: `User.age >= ... and not (User.email = ...)`."""
    how, operands = condition.how, condition.operands
    if how in ("AND", "OR"):
        return f" {how.lower()} ".join(f"({words(c)})" if c.how in ("AND", "OR") else words(c) for c in operands)
    if how == "NOT":
        return f"not ({words(operands[0])})"
    left = _left_words(operands[0])
    if how == "attribute_exists":
        return f"{left} exists"
    if how == "attribute_not_exists":
        return f"{left} does not exist"
    return f"{left} {how.replace('begins_with', 'starts with').lower()} {'None' if operands[1] is None else '...'}"


def _left_words(operand: Any) -> str:
    if isinstance(operand, Stored):
        return operand.name
    return f"size of {operand.handle!r}" if isinstance(operand, Size) else repr(operand)


@cache
def _writer(plan: Plan) -> Any:
    source = Source()
    text = plan.write(source, "value")
    return eval(f"lambda value: {text}", source.names)  # noqa: S307 our own text


def _is_absence(update: Update, path: Path) -> bool:
    if update.value is None and path.plan.holds_none and not path.optional:
        return False
    if update.value is None and not path.optional:
        raise InvalidValue("None is for an attribute that may be None", attribute=repr(update.path))
    return update.value is None or (path.plan.is_set and not update.value)


def _refuse_overlap(handle: Handle, path: tuple[str | int, ...], seen: list[tuple[str | int, ...]]) -> None:
    for other in seen:
        shorter = min(len(path), len(other))
        if path[:shorter] == other[:shorter]:
            raise InvalidRequest(
                "two changes of the same attribute in one update", attribute=repr(handle), hint="Merge them."
            )
    seen.append(path)
