"""Generated code that makes an object's item: the writer of a class, as `codecs` shows it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from singletable.values.fields import Constant, Derived, Field
from singletable.values.source import Source
from singletable.values.undeclared import UNDECLARED, completed, completed_slotted, slotted_now


def dump_lines(
    fields: Sequence[Field], constants: Sequence[Constant], derived: Sequence[Derived], source: Source
) -> list[str]:
    """The function `dump`, but for what it returns: `dumped`."""
    lines = ["def dump(o):"]
    entries: list[str] = []
    for d in derived:
        if d.compute is None:
            key = source.fresh("key")
            lines += [f"    {line}" for line in d.lines(source, key)]
            entries.append(f"{d.stored!r}: {{{d.tag!r}: {key}}}")
    entries += [f"{c.stored!r}: {source.bind(c.value, 'constant')}" for c in constants]
    fields = [f for f in fields if f.is_written]
    for field in fields:
        if not (field.optional or field.plan.is_set):
            v = source.fresh("v")
            lines.append(f"    {v} = o.{field.name}")
            entries.append(f"{field.stored!r}: {field.plan.write(source, v)}")
    lines.append(f"    d = {{{', '.join(entries)}}}")
    for field in fields:
        if field.optional or field.plan.is_set:
            lines += _dump_optional(field, source)
    for d in derived:
        if d.compute is not None:
            call = f"{source.bind(d.compute, 'key')}(o)"
            lines += [f"    if (v := {call}) is not None:", f"        d[{d.stored!r}] = {{{d.tag!r}: v}}"]
    return lines


def dumped(kind: type[Any], known: Collection[str], source: Source) -> str:
    """The item `d` of the object `o`, with what it carries."""
    if not kind.__dictoffset__:
        complete = source.bind(completed_slotted, "completed")
        return f"d if not {source.bind(slotted_now, 'slotted')}() else {complete}(d, o)"
    carried = f"{source.bind(getattr, 'get')}(o, {UNDECLARED!r}, None)"
    if getattr(kind, UNDECLARED, kind) is None:
        carried = f"o.{UNDECLARED}"
    elif hasattr(kind, "__getattr__"):  # which may answer for any name, or fail
        carried = f"o.__dict__.get({UNDECLARED!r})"
    complete = source.bind(completed, "completed")
    return f"d if {carried} is None else {complete}(d, o, {source.bind(known, 'known')}, dump)"


def _dump_optional(field: Field, source: Source) -> list[str]:
    v = source.fresh("v")
    put = f"        d[{field.stored!r}] = {field.plan.write(source, v)}"
    if not field.plan.is_set:
        return [f"    if ({v} := o.{field.name}) is not None:", put]
    empty = source.bind((set(), frozenset()), "empty")
    return [f"    if ({v} := o.{field.name}) not in {empty}:", put]
