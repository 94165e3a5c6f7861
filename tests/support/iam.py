"""An evaluator of IAM's statements, as IAM documents them, for what DynamoDB, its streams and SQS are asked.

    is_allowed(statements, Attempt("dynamodb:GetItem", arn, {"dynamodb:LeadingKeys": ("user#ada",)}))

Of the language it knows what these policies could use: Allow and Deny, wildcards in actions and resources, variables,
`ForAllValues`, `ForAnyValue`, `IfExists` and the operators below. Anything else raises: a statement that is not
understood must not pass.

Sources: the IAM user guide, "Policy evaluation logic", "IAM JSON policy elements: Condition operators", "Creating a
condition with multiple keys or values"; the DynamoDB developer guide, "Using IAM policy conditions for fine-grained
access control".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

Context = Mapping[str, tuple[str, ...]]
"""The values of each condition key of a request; a key that it doesn't have is left out."""
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_SPECIAL = {"*", "?", "$"}
_KNOWN = {"Sid", "Effect", "Action", "Resource", "Condition"}
"""The elements of a statement."""


@dataclass(frozen=True)
class Attempt:
    """One thing that a request asks leave for. A request of several tables, or kinds of action, asks several times."""

    action: str
    resource: str
    context: Context = field(default_factory=dict[str, tuple[str, ...]])


def is_allowed(statements: Iterable[Mapping[str, Any]], attempt: Attempt) -> bool:
    """A Deny that applies decides; without one, an Allow; without either it is refused."""
    effects = {statement["Effect"] for statement in statements if applies(statement, attempt)}
    return effects == {"Allow"}


def applies(statement: Mapping[str, Any], attempt: Attempt) -> bool:
    if not statement.keys() <= _KNOWN:
        raise NotImplementedError(f"{sorted(statement.keys() - _KNOWN)} of a statement")
    if statement["Effect"] not in ("Allow", "Deny"):
        raise ValueError(f"no effect: {statement['Effect']!r}")
    return (
        names_action(statement, attempt.action)
        and any(like(pattern, attempt.resource, attempt.context) for pattern in _listed(statement["Resource"]))
        and holds(statement.get("Condition", {}), attempt.context)
    )


def names_action(statement: Mapping[str, Any], action: str) -> bool:
    """Whether a statement is about an action, whatever it says of it."""
    return _is_action(action, tuple(_listed(statement["Action"])))


@cache
def _is_action(action: str, patterns: tuple[str, ...]) -> bool:
    """In whatever case."""
    return any(like(pattern.lower(), action.lower(), {}) for pattern in patterns)


def holds(condition: Mapping[str, Mapping[str, Any]], context: Context) -> bool:
    """Every operator, and every key of one, has to hold; of the values given for a key, one."""
    return all(
        _holds(operator, given, context.get(key), context)
        for operator, keys in condition.items()
        for key, given in ((key, _listed(value)) for key, value in keys.items())
    )


def _holds(operator: str, given: list[str], values: tuple[str, ...] | None, context: Context) -> bool:
    if operator == "Null":
        return any((values is None) == (each == "true") for each in given)
    quantifier, colon, name = operator.rpartition(":")
    if_exists = name.endswith("IfExists")
    match = _OPERATORS[name.removesuffix("IfExists")]
    if not values:  # missing, or an empty set
        # ForAllValues is true of nothing at all, as IAM documents with a warning.
        return if_exists or quantifier == "ForAllValues" or match.is_negated

    def is_one(value: str) -> bool:
        return match.is_one(value, given, context)

    if quantifier == "ForAllValues":
        return all(map(is_one, values))
    if quantifier == "ForAnyValue":
        return any(map(is_one, values))
    if colon or len(values) > 1:
        raise NotImplementedError(f"{operator} of {len(values)} values")
    return is_one(values[0])


@dataclass(frozen=True)
class _Match:
    takes_wildcards: bool
    is_negated: bool = False

    def is_one(self, value: str, given: list[str], context: Context) -> bool:
        if self.takes_wildcards:
            found = any(like(pattern, value, context) for pattern in given)
        else:
            found = any(_resolved(text, context) == value for text in given)
        return found is not self.is_negated


_OPERATORS = {
    "StringEquals": _Match(False),
    "StringNotEquals": _Match(False, is_negated=True),
    "StringLike": _Match(True),
    "StringNotLike": _Match(True, is_negated=True),
    "ArnEquals": _Match(True),
    "ArnLike": _Match(True),
    "Bool": _Match(False),
}


def like(pattern: str, value: str, context: Context) -> bool:
    """Whether a text matches: `*` is any text, `?` one character, `${...}` a variable or one of these as it is."""
    if "${" not in pattern:
        return _wild_pattern(pattern).fullmatch(value) is not None
    regex, end = "", 0
    for variable in _VARIABLE.finditer(pattern):
        regex += _wild(pattern[end : variable.start()])
        text = _value(variable[1], context)
        if text is None:
            return False
        regex += re.escape(text)
        end = variable.end()
    return re.fullmatch(regex + _wild(pattern[end:]), value, re.DOTALL) is not None


@cache
def _wild_pattern(text: str) -> re.Pattern[str]:
    return re.compile(_wild(text), re.DOTALL)


@cache
def _wild(text: str) -> str:
    return "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in text)


def _resolved(text: str, context: Context) -> str | None:
    missing = [v for v in _VARIABLE.findall(text) if _value(v, context) is None]
    return None if missing else _VARIABLE.sub(lambda found: _value(found[1], context) or "", text)


def _value(variable: str, context: Context) -> str | None:
    if variable in _SPECIAL:
        return variable
    values = context.get(variable, ())
    return values[0] if len(values) == 1 else None


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
