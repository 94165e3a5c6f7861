"""A call of a pattern to copy: in Python, for the program `singletable`, for the AWS CLI, and for boto3."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from enum import Enum
from pprint import pformat
from typing import Any, cast

from msgspec import Struct

from singletable.foundation import COVERED, KeyOf, Range, entity_name
from singletable.pattern_calls import Pattern
from singletable.records import Explained
from singletable.schema import missing_in
from singletable.studio.text import escaped, python_escaped
from singletable.values import value_type_of

_ACTIONS: Mapping[str, tuple[str, str]] = {
    "GetItem": ("get-item", "get_item"),
    "Query": ("query", "query"),
    "BatchGetItem": ("batch-get-item", "batch_get_item"),
    "TransactGetItems": ("transact-get-items", "transact_get_items"),
}


class CallText(Struct, frozen=True):
    """One way to write it."""

    name: str
    text: str


class PatternCall(Struct, frozen=True):
    """A call of a pattern, with its options."""

    module: str
    """The tables' name for the program `singletable`."""
    target: str
    """The database's name for its option `--db`."""
    pattern: Pattern
    texts: Mapping[str, tuple[str, Sequence[str]]]
    """The range and its texts, by parameter."""
    values: Mapping[str, Any]
    covered: frozenset[str]
    """Parameters whose values are not shown."""
    reads_one: bool
    limit: int
    newest_first: bool
    consistent: bool


def calls_of(asked: PatternCall, requests: Sequence[Explained], region: str) -> tuple[CallText, ...]:
    """The same call in each form. A covered value is covered in all of them."""
    calls = [CallText("singletable", _program(asked))]
    if not asked.pattern.captured.model.is_system:
        calls.insert(0, CallText("Python", _python(asked)))
    if len(requests) == 1:
        (request,) = requests
        calls.append(CallText("AWS CLI", _aws(request, region)))
        calls.append(CallText("boto3", _boto3(request, region)))
    return tuple(calls)


def _python(asked: PatternCall) -> str:
    captured = asked.pattern.captured
    required = [_argument(asked, name) for name in asked.pattern.required]
    more = [f"{name}={_argument(asked, name)}" for name in asked.values if name not in asked.pattern.required]
    arguments = ", ".join([*required, *more])
    read = f"{asked.pattern.shown}({arguments})"
    if asked.newest_first:
        read += ".newest_first()"
    if asked.consistent:
        read += ".consistent()"
    if captured.index is not None and missing_in(captured.model, captured.index):
        read += ".hydrated()"
    kind: type[Any] = getattr(asked.pattern.call, "kind", captured.owner)
    ranges = [("singletable", how.replace("-", "_")) for how, _ in asked.texts.values() if how != "exactly"]
    shown = [value for name, value in asked.values.items() if name not in asked.covered]
    needed = [*ranges, (kind.__module__, asked.pattern.entity), *(name for value in shown for name in _names_in(value))]
    call = f"db.get({read})" if asked.reads_one else f"db.page({read}, limit={asked.limit})"
    return "\n".join([*_imports(needed), "", python_escaped(call)])


def _imports(needed: Sequence[tuple[str, str]]) -> list[str]:
    """The imports for the names of a call: each a module, and a name in it."""
    modules: dict[str, set[str]] = {}
    for module, name in needed:
        modules.setdefault(module, set()).add(name.partition(".")[0])
    return [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(modules.items())]


def _names_in(value: Any) -> Sequence[tuple[str, str]]:
    """The names that a value needs as Python code."""
    if isinstance(value, Range):
        return [name for end in (value.low, value.high) for name in _names_in(end)]
    if isinstance(value, KeyOf):
        key: KeyOf[Any] = cast("Any", value)
        inner = [name for each in key.model.key_values(key).values() for name in _names_in(each)]
        return [(key.model.kind.__module__, entity_name(key.model.kind)), *inner]
    if isinstance(value, type):
        return [(value.__module__, entity_name(value))]
    kind: type[Any] = value.__class__
    value_type = value_type_of(kind)
    is_named = value_type is not None and (value_type.choices or value_type.code)
    return [(kind.__module__, entity_name(kind))] if is_named else []


def _argument(asked: PatternCall, name: str) -> str:
    how, texts = asked.texts[name]
    if name in asked.covered:
        return repr(COVERED)
    value = asked.values[name]
    if how == "exactly":
        return _literal(value)
    ends = [end for end in (value.low, value.high) if end is not None]
    assert len(ends) == len(texts)
    return f"{how.replace('-', '_')}({', '.join(map(_literal, ends))})"


def _literal(value: Any) -> str:
    """A value as Python code, with the class by its name."""
    if isinstance(value, Enum):
        return f"{entity_name(type(value))}.{value.name}"
    if isinstance(value, KeyOf):
        key: KeyOf[Any] = cast("Any", value)
        arguments = ", ".join(_literal(each) for each in key.model.key_values(key).values())
        return f"{key.captured.shown}({arguments})"
    if isinstance(value, type):
        return entity_name(value)
    value_type = value_type_of(type(value))
    return value_type.python(value) if value_type is not None else repr(value)


def _program(asked: PatternCall) -> str:
    words = ["singletable", "get" if asked.reads_one else "query", asked.module, asked.pattern.shown]
    for name, (how, texts) in asked.texts.items():
        value = COVERED if name in asked.covered else ",".join(texts)
        words.append(f"{name}={value}" if how == "exactly" and ":" not in value else f"{name}={how}:{value}")
    if not asked.reads_one:
        words += ["--limit", str(asked.limit)]
    if asked.newest_first:
        words.append("--newest-first")
    if asked.consistent:
        words.append("--consistent")
    return shlex.join([*words, "--db", asked.target])


def _aws(request: Explained, region: str) -> str:
    body = escaped(json.dumps(request.body, ensure_ascii=False, indent=2))
    place = f" --region {shlex.quote(region)}" if region else ""
    return f"aws dynamodb {_ACTIONS[request.operation][0]}{place} --cli-input-json {shlex.quote(body)}"


def _boto3(request: Explained, region: str) -> str:
    place = f", region_name={region!r}" if region else ""
    body = python_escaped(pformat(request.body, sort_dicts=False, width=100))
    return (
        f'import boto3\n\nclient = boto3.client("dynamodb"{place})\nclient.{_ACTIONS[request.operation][1]}(**{body})'
    )
