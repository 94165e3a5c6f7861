"""The evaluator itself: each rule of IAM that it knows, and that it refuses what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.iam import Attempt, is_allowed, like

ARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/app"
KEYS = "dynamodb:LeadingKeys"


def statement(condition: dict[str, Any] | None = None, effect: str = "Allow", **more: Any) -> dict[str, Any]:
    return {"Effect": effect, "Action": "dynamodb:GetItem", "Resource": ARN, "Condition": condition or {}, **more}


def allowed(*statements: dict[str, Any], action: str = "dynamodb:GetItem", **context: tuple[str, ...]) -> bool:
    named = {name.replace("__", ":").replace("_slash_", "/"): values for name, values in context.items()}
    return is_allowed(statements, Attempt(action, ARN, named))


def test_nothing_is_allowed_without_a_statement_and_a_deny_decides() -> None:
    assert not allowed()
    assert allowed(statement())
    assert not allowed(statement(), statement(effect="Deny"))
    assert allowed(statement(), statement(effect="Deny", Action="dynamodb:PutItem"))


def test_wildcards_of_actions_and_resources() -> None:
    assert allowed(statement(Action="dynamodb:*Item"))
    assert allowed(statement(Action=["dynamodb:putitem", "DYNAMODB:GETITEM"]))
    assert not allowed(statement(Action="dynamodb:Get"))
    assert allowed(statement(Resource=[ARN[:-3] + "*"]))
    assert not allowed(statement(Resource=ARN + "/index/*"))


@pytest.mark.parametrize(
    ("operator", "given", "values", "holds"),
    [
        ("ForAllValues:StringLike", ["a*"], ("ab", "ac"), True),
        ("ForAllValues:StringLike", ["a*"], ("ab", "bc"), False),
        ("ForAllValues:StringLike", ["a*", "b*"], ("ab", "bc"), True),
        ("ForAllValues:StringLike", ["a*"], None, True),
        ("ForAllValues:StringLike", ["a*"], (), True),
        ("ForAnyValue:StringLike", ["a*"], ("ab", "bc"), True),
        ("ForAnyValue:StringLike", ["a*"], None, False),
        ("ForAllValues:StringEquals", ["a*"], ("ab",), False),
        ("StringEquals", "a", ("a",), True),
        ("StringEquals", "a", None, False),
        ("StringEqualsIfExists", "a", None, True),
        ("StringEqualsIfExists", "a", ("b",), False),
        ("StringNotEquals", "a", ("b",), True),
        ("StringNotEquals", "a", None, True),
        ("StringNotLike", "a*", ("ab",), False),
        ("Null", "false", ("a",), True),
        ("Null", "false", None, False),
        ("Null", "true", None, True),
    ],
)
def test_operators(operator: str, given: Any, values: tuple[str, ...] | None, holds: bool) -> None:
    context = {} if values is None else {KEYS: values}
    assert is_allowed([statement({operator: {KEYS: given}})], Attempt("dynamodb:GetItem", ARN, context)) is holds


def test_every_operator_and_key_has_to_hold() -> None:
    both = {"StringEquals": {KEYS: "a", "dynamodb:Select": "b"}, "Null": {KEYS: "false"}}
    assert allowed(statement(both), dynamodb__LeadingKeys=("a",), dynamodb__Select=("b",))
    assert not allowed(statement(both), dynamodb__LeadingKeys=("a",), dynamodb__Select=("c",))


def test_variables_and_escapes() -> None:
    context = {"aws:PrincipalTag/org": ("a*",)}
    assert like("org#${aws:PrincipalTag/org}#*", "org#a*#1", context)
    assert not like("org#${aws:PrincipalTag/org}#*", "org#ab#1", context)
    assert not like("org#${aws:PrincipalTag/other}#*", "org##1", context)
    assert like("a${*}${?}${$}", "a*?$", {})
    assert not like("a${*}", "ab", {})
    assert like("a?c", "abc", {})


def test_what_it_does_not_know_it_refuses_to_judge() -> None:
    with pytest.raises(NotImplementedError):
        allowed(statement(NotAction="x"))
    with pytest.raises(KeyError):
        allowed(statement({"NumericEquals": {KEYS: "1"}}), dynamodb__LeadingKeys=("1",))
    with pytest.raises(NotImplementedError):
        allowed(statement({"StringEquals": {KEYS: "1"}}), dynamodb__LeadingKeys=("1", "2"))
    with pytest.raises(ValueError, match="no effect"):
        allowed(statement(effect="Maybe"))
