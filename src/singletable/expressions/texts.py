"""From conditions and updates to DynamoDB's texts, names and values.

One `Expressions` serves all texts of a request: a name used twice has one placeholder. Limits (AWS, "Quotas"): 4 KB a
text, 300 operators and functions, 100 values of IN, 32 steps of a path. Nothing here recurses: a condition may be as
deep as it has operators, whatever is left of the caller's stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from singletable.errors import InvalidRequest, InvalidValue
from singletable.expressions.comparisons import (
    OPERATORS,
    ORDERINGS,
    check_between,
    check_ordered,
    check_prefix,
    check_sized,
)
from singletable.expressions.conditions import JOINS, Condition, Given, Size, Stored, Update, shown
from singletable.expressions.handles import Handle, Path, resolve
from singletable.values import (
    DURATION,
    INTEGER,
    TEXT,
    AttributeValue,
    FreePlan,
    Kind,
    ListPlan,
    Scalar,
    ValuePlan,
    writer_of,
)

MAX_TEXT_BYTES = 4096
MAX_OPERATORS = 300
MAX_IN = 100
MAX_STEPS = 32
"""The limit for steps of a path, the attribute included."""
_ZERO = Given({"N": "0"})
_INNER = JOINS | {"NOT"}
"""Conditions that hold other conditions."""


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
        self._operators = 0
        return _checked("".join(self._texts(condition)), "a condition")

    def update(self, updates: Iterable[Update], extra: Iterable[AttributeChange] = ()) -> str:
        """The text of an update: the caller's changes and the library's own."""
        self._operators = 0
        clauses: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
        seen: list[tuple[str | int, ...]] = []
        for update, path in self._in_order(updates):
            _refuse_overlap(update.path, path.stored, seen)
            verb, text = self._update(update, path)
            clauses[verb].append(text)
        for change in extra:
            if change.value is None:
                clauses["REMOVE"].append(self.name(change.name))
            else:
                between = " = " if change.clause == "SET" else " "
                clauses[change.clause].append(f"{self.name(change.name)}{between}{change.text(self)}")
        text = " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses.items() if parts)
        self._count(text.count(" + ") + text.count("("))  # and functions: if_not_exists, list_append
        return _checked(text, "an update")

    def projection(self, stored: Iterable[str]) -> str:
        return _checked(", ".join(self.name(name) for name in stored), "a list of attributes")

    def _count(self, operators: int) -> None:
        self._operators += operators
        if self._operators > MAX_OPERATORS:
            raise InvalidRequest(
                f"an expression of more than {MAX_OPERATORS} operators and functions, which is what DynamoDB takes",
                hint="Split the call.",
            )

    # --- conditions -------------------------------------------------------------------------------------------------
    def _texts(self, condition: Condition) -> Iterator[str]:
        """The parts of a condition's text, one after the other; it ends early where there are too many."""
        waiting: list[str | Condition] = [condition]
        while waiting:
            part = waiting.pop()
            if isinstance(part, str):
                yield part
            elif part.how in JOINS:
                self._count(len(part.operands) - 1)
                if all(c.how not in _INNER for c in part.operands):  # most of them, and without the detour
                    yield f"({f' {part.how} '.join(map(self._test, part.operands))})"
                    continue
                between = [x for c in part.operands for x in (f" {part.how} ", c)][1:]
                waiting += [")", *reversed(between), "("]
            elif part.how == "NOT":
                self._count(1)
                waiting += self._negated(part.operands[0])
                yield "NOT "
            else:
                yield self._test(part)

    def _negated(self, inner: Condition) -> list[str | Condition]:
        """The text after a NOT, the last part first: in parentheses, but never in two pairs, which DynamoDB refuses."""
        if inner.how in JOINS:
            return [inner]
        if inner.how == "NOT":
            return [")", inner, "("]
        text = self._test(inner)
        return [text if text.startswith("(") else f"({text})"]

    def _test(self, condition: Condition) -> str:
        """One comparison or function."""
        how, operands = condition.how, condition.operands
        self._count(1)
        if isinstance(operands[0], Size):
            return self._sized(how, operands[0].handle, operands[1])
        left, plan, _ = self._left(operands[0])
        if how in OPERATORS:
            return self._comparison(how, left, plan, operands)
        if how == "BETWEEN":
            low, high = (self._given(v, plan, operands[0]) for v in operands[1:])
            check_between(low, high, shown(operands[0]))
            return f"{left} BETWEEN {self.value(low)} AND {self.value(high)}"
        if how == "IN":
            return self._is_in(left, plan, operands)
        if how == "attribute_exists" and isinstance(operands[0], Handle):
            return self._is_present(left)
        if how in ("attribute_exists", "attribute_not_exists"):
            return f"{how}({left})"
        holder = plan
        if how == "contains":
            plan = getattr(plan.without_none, "element", plan)
        value = self._given(operands[1], plan, operands[0])
        if how == "begins_with":
            check_prefix(value, shown(operands[0]))
        if plan is holder and value == {"S": ""}:  # engines differ in whether they take an empty text there
            if not isinstance(plan, FreePlan):
                return self._is_present(left)
            if how == "begins_with":
                return f"attribute_type({left}, {self.value({'S': 'S'})})"
        return f"{how}({left}, {self.value(value)})"

    def _left(self, operand: Any) -> tuple[str, ValuePlan, bool]:
        if isinstance(operand, Stored):
            return self.path((operand.name, *operand.inside)), TEXT, False
        path = resolve(operand, self.kinds)
        return self._inside(operand, path.stored), path.plan, path.optional

    def _sized(self, how: str, handle: Any, number: Any) -> str:
        """A comparison of a size. A set that is absent has none for DynamoDB; here it is empty, and its size 0."""
        self._count(1)
        left, plan, optional = self._left(handle)
        check_sized(plan.without_none, shown(handle))
        given = self._given(number, INTEGER, handle)
        if plan.is_set and how == "<>" and number == 0:
            how = ">"  # an engine may find the size of what is absent to be other than 0
        test = f"size({left}) {how} {self.value(given)}"
        if not OPERATORS[how](0, number):
            return test
        if plan.is_set:
            return self._absent_or(left, test)
        if not optional:
            return test
        self._count(2)
        return f"({test} AND NOT {self._is_null(left)})"

    def _absent_or(self, left: str, *others: str) -> str:
        """A test for absence, for NULL (as which other programs store None), or for one of the others."""
        self._count(1 + 2 * len(others))
        return f"({' OR '.join((f'attribute_not_exists({left})', self._is_null(left), *others))})"

    def _is_present(self, left: str) -> str:
        self._count(2)
        return f"(attribute_exists({left}) AND NOT {self._is_null(left)})"

    def _is_null(self, left: str) -> str:
        self._count(1)
        return f"attribute_type({left}, {self.value({'S': 'NULL'})})"

    def _inside(self, handle: Handle, steps: tuple[str | int, ...]) -> str:
        if len(steps) > MAX_STEPS:
            raise InvalidRequest(
                f"a path of {len(steps)} steps; DynamoDB allows {MAX_STEPS}",
                attribute=str(handle),
                hint="Change or compare a part of the attribute that lies less deep.",
            )
        return self.path(steps)

    def _comparison(self, how: str, left: str, plan: ValuePlan, operands: tuple[Any, ...]) -> str:
        handle, value = operands
        if value.__class__ is Given:  # the library's own, in every update
            return f"{left} {how} {self.value(value.value)}"
        if not value and how in ("=", "<>") and _is_absence(plan, value):
            return self._absent_or(left) if how == "=" else self._is_present(left)
        given = self._given(value, plan, handle)
        if how in ORDERINGS:
            check_ordered(how, given, shown(handle))
        return f"{left} {how} {self.value(given)}"

    def _is_in(self, left: str, plan: ValuePlan, operands: tuple[Any, ...]) -> str:
        handle, *values = operands
        if not 1 <= len(values) <= MAX_IN:
            raise InvalidRequest(f"is_in() takes 1 to {MAX_IN} values, not {len(values)}", attribute=str(handle))
        there = [self._operand(v, plan, handle) for v in values if not _is_absence(plan, v)]
        tests = [f"{left} IN ({', '.join(there)})"] if there else []
        return tests[0] if len(there) == len(values) else self._absent_or(left, *tests)

    def _operand(self, value: Any, plan: ValuePlan, handle: Any) -> str:
        return self.value(self._given(value, plan, handle))

    def _given(self, value: Any, plan: ValuePlan, handle: Any) -> AttributeValue:
        return value.value if isinstance(value, Given) else encoded(plan, value, handle)

    # --- updates ----------------------------------------------------------------------------------------------------
    def _update(self, update: Update, path: Path) -> tuple[str, str]:
        verb, value, left = update.verb, update.value, self._inside(update.path, path.stored)
        if verb == "REMOVE" and not path.removable:
            raise InvalidValue("only an attribute that may be None can be removed", attribute=str(update.path))
        if verb == "REMOVE" or (verb == "SET" and _removes(update, path)):
            return "REMOVE", left
        if verb == "SET":
            return verb, f"{left} = {self._operand(value, path.plan, update.path)}"
        if verb == "APPEND":
            return "SET", self._append(update, path, left)
        if path.plan.is_set or isinstance(value, (set, frozenset)):
            return verb, self._members(update, path, left)
        return self._sum(update, path, left)

    def _in_order(self, updates: Iterable[Update]) -> list[tuple[Update, Path]]:
        """The last of a list's elements first: numbers are those before the update, and an engine that removes one
        after the other then finds each where it was."""
        resolved = [(update, resolve(update.path, self.kinds)) for update in updates]
        if any(isinstance(step, int) for _, path in resolved for step in path.stored):
            resolved.sort(key=lambda pair: [(isinstance(step, int), step) for step in pair[1].stored], reverse=True)
        return resolved

    def _sum(self, update: Update, path: Path, left: str) -> tuple[str, str]:
        """The sum of the stored number, or of what its absence is read as, and another."""
        if not _may_be_added_to(path.plan.without_none):
            raise _not_added(path.plan.without_none, str(update.path))
        absent = path.absent() or _ZERO
        if path.is_top and absent is _ZERO:
            return "ADD", f"{left} {self._operand(update.value, path.plan, update.path)}"
        there = f"if_not_exists({left}, {self._operand(absent, path.plan, update.path)})"
        return "SET", f"{left} = {there} + {self._operand(update.value, path.plan, update.path)}"

    def _append(self, update: Update, path: Path, left: str) -> str:
        plan = path.plan.without_none
        if not isinstance(plan, ListPlan):
            raise InvalidRequest("only a list can be appended to", attribute=str(update.path))
        absent = self._operand(path.absent() or plan.kind(), plan, update.path)
        more = self._operand(plan.kind(update.value), plan, update.path)
        return f"{left} = list_append(if_not_exists({left}, {absent}), {more})"

    def _members(self, update: Update, path: Path, left: str) -> str:
        if not path.plan.is_set and not isinstance(path.plan, FreePlan):
            raise InvalidRequest("include() and exclude() are for a set", attribute=str(update.path))
        if not path.is_top:
            raise InvalidRequest(
                "DynamoDB adds to and takes from a set at the top of an item only", attribute=str(update.path)
            )
        if not update.value:
            raise InvalidRequest("include() and exclude() take at least one member", attribute=str(update.path))
        return f"{left} {self._operand(update.value, path.plan, update.path)}"


class AttributeChange(Struct, frozen=True):
    """A change of the library's own: an index key, a version. A value of None removes the attribute."""

    name: str
    value: AttributeValue | None
    plus: AttributeValue | None = None
    """Added to the stored number, or to `value` if the attribute is missing."""
    keep: bool = False
    """Set the value only if the attribute is missing."""
    clause: Literal["SET", "ADD", "DELETE"] = "SET"
    """ADD: to the stored number or set. DELETE: from the stored set."""

    def __repr__(self) -> str:
        return f"<{self.clause} {self.name}>"

    def text(self, expressions: Expressions) -> str:
        assert self.value is not None
        if self.plus is not None or self.keep:
            there = f"if_not_exists({expressions.name(self.name)}, {expressions.value(self.value)})"
            return f"{there} + {expressions.value(self.plus)}" if self.plus is not None else there
        return expressions.value(self.value)


def encoded(plan: ValuePlan, value: Any, handle: Any = None) -> AttributeValue:
    """A value as its attribute stores it; InvalidValue names the attribute."""
    try:
        return writer_of(plan)(value)
    except InvalidValue as error:
        if handle is not None and error.attribute is None:
            error.attribute = str(handle)
        raise


def stored_or_absent(plan: ValuePlan, value: Any) -> AttributeValue | None:
    """A value as its attribute stores it; None where that is absence."""
    return None if _is_absence(plan, value) and not plan.holds_none else encoded(plan, value)


def _checked(text: str, what: str) -> str:
    if len(text) > MAX_TEXT_BYTES:
        raise InvalidRequest(
            f"{what} of {len(text)} bytes; DynamoDB allows {MAX_TEXT_BYTES} bytes", hint="Split the call."
        )
    return text


def _is_absence(plan: ValuePlan, value: Any) -> bool:
    """Whether a value is stored as absence: None, and an empty set."""
    return value is None or (plan.is_set and isinstance(value, (set, frozenset)) and not value)


def _may_be_added_to(plan: ValuePlan) -> bool:
    """Whether each sum is a value of the type: of an Enum's, a time's and a float's not each one is."""
    if not isinstance(plan, Scalar):
        return isinstance(plan, FreePlan)
    is_itself = plan.stored is None or plan is DURATION
    return is_itself and plan.kind in (Kind.INTEGER, Kind.DECIMAL) and not plan.choices


def _not_added(plan: ValuePlan, attribute: str) -> InvalidRequest:
    if isinstance(plan, Scalar) and plan.kind is Kind.FLOAT:
        return InvalidRequest(
            "add() is not exact for a float: DynamoDB adds decimal numbers, and no float may hold their sum",
            attribute=attribute,
            hint="Declare it as a Decimal, or read it and set() the sum, where the attribute is as it was read.",
        )
    return InvalidRequest(
        "add() is for an int, a Decimal and a timedelta",
        attribute=attribute,
        hint="Use append() for a list, include() for a set, set() for another value.",
    )


def _removes(update: Update, path: Path) -> bool:
    if update.value is not None:
        return path.plan.is_set and not update.value
    if path.plan.holds_none and not path.optional:
        return False
    if not path.optional:
        raise InvalidValue("None is for an attribute that may be None", attribute=str(update.path))
    return True


def _refuse_overlap(handle: Handle, path: tuple[str | int, ...], seen: list[tuple[str | int, ...]]) -> None:
    for other in seen:
        shorter = min(len(path), len(other))
        if path[:shorter] == other[:shorter]:
            raise InvalidRequest(
                "two changes of the same attribute in one update", attribute=str(handle), hint="Merge them."
            )
    seen.append(path)
