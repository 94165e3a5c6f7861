"""Changes of forms: which rules of `differences` the change of an attribute's form falls under.

An attribute's form is that of `values.fields`: its type's form, whether it may be absent, its default, its role. Of a
type's form each part is compared: the members of an enum, the attributes of an object in an item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

Change = tuple[str, str, tuple[str, ...]]
"""A rule, the change in words, and the stored values concerned."""


def attribute_changes(was: dict[str, Any] | None, now: dict[str, Any] | None) -> Iterator[Change]:
    """The rules that the change of an attribute falls under: one of a class, or of an object inside an item."""
    if was == now:
        return
    if now is None:
        yield "attribute.removed", f"it was {said(was)}, and no attribute is stored under the name", ()
    elif was is None:
        is_free = _may_be_absent(now) or "in key" in now
        yield "attribute.added" if is_free else "attribute.required", f"it is new: {said(now)}", ()
    else:
        yield from form_changes(was["form"], now["form"])
        yield from _absence(was, now)
        for name in sorted((was.keys() | now.keys()) - {"form", "optional", "default", "makes"}):
            if was.get(name) != now.get(name):
                yield (
                    _rule_of(name, was.get(name), now.get(name)),
                    f"{name}: {said(was.get(name))}, now {said(now.get(name))}",
                    (),
                )


def _rule_of(fact: str, was: Any, now: Any) -> str:
    """The rule of a fact other than form and absence."""
    if fact == "role":
        return "unique.added" if now == "unique" else "beside.removed" if was == "unique" else "role.changed"
    if fact == "guard" and was and now:
        return "guard.changed"
    return "attribute.renamed" if fact in ("name", "guard") else "unknown"  # a guard comes and goes with the role


def _may_be_absent(facts: dict[str, Any]) -> bool:
    return bool(facts.get("optional") or facts.get("default") or _empty_set(facts))


def _empty_set(facts: dict[str, Any]) -> Any:
    """The reading of a set that is absent: DynamoDB stores no empty one."""
    return {"SS": []} if "set" in facts_of(facts["form"]) else None


def _absence(was: dict[str, Any], now: dict[str, Any]) -> Iterator[Change]:
    """The reading of an item without the attribute: None, a default, or an error. Of a function that makes the default,
    an older record doesn't have what it makes."""
    knows = "makes" in was or was.get("default") != "made"
    names = ("optional", "makes", "default") if knows else ("optional", "default")
    readings = [next((facts[name] for name in names if facts.get(name)), None) for facts in (was, now)]
    old, new = (one or _empty_set(facts) for one, facts in zip(readings, (was, now), strict=True))
    if old == new:
        return
    if new is None:
        yield "attribute.required", "it may not be absent any more", ()
    elif old is not None:
        yield "default.changed", f"without it an item read as {_said_absent(old)}, and now as {_said_absent(new)}", ()
    else:
        yield "attribute.optional", "it may be absent" if new is True else "it has a default", ()


def form_changes(was: Any, now: Any) -> Iterator[Change]:
    """The rules that another form of values falls under."""
    if was == now:
        return
    old, new = facts_of(was), facts_of(now)
    if "values" in old and "values" in new and old["of"] == new["of"]:
        yield from _members(old["values"], new["values"])
    elif "object" in old and "object" in new:
        yield from _read_whole(_attributes(old["object"], new["object"]))
    elif len(old) == 1 and old.keys() == new.keys():
        yield from _read_whole(form_changes(*old.values(), *new.values()))
    else:
        is_wider = now == "any" or now == {"or null": was} or (now is not None and now == old.get("of"))
        yield "type.wider" if is_wider else "type.changed", f"it was {said(was)}, and is {said(now)}", ()


def _attributes(was: dict[str, Any], now: dict[str, Any]) -> Iterator[Change]:
    for name in sorted(was.keys() | now.keys()):
        for rule, what, texts in attribute_changes(was.get(name), now.get(name)):
            yield rule, f"{name} in it: {what}", texts


def _read_whole(changes: Iterator[Change]) -> Iterator[Change]:
    """The same inside of a value: nothing there says how to count some of them, so the value is read whole."""
    for rule, what, _ in changes:
        yield _WHOLE.get(rule, rule), what, ()


_WHOLE: dict[str, str] = {
    "attribute.required": "type.changed",
    "attribute.removed": "type.changed",
    "default.changed": "type.changed",
}


def _members(was: dict[str, str], now: dict[str, str]) -> Iterator[Change]:
    """The members of an enum, by their names and stored values. A literal's values are their own names."""
    old, new = ({value: name for name, value in members.items()} for members in (was, now))
    lost, gained = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    others = sorted(value for value in old.keys() & new.keys() if old[value] != new[value] and old[value] in now)
    if others:
        yield "enum.changed", f"{said(others)} reads as another member", tuple(others)
    if lost:
        yield "enum.lost", f"no member has the value {said(lost)} any more", ()
    if gained:
        yield "enum.gained", f"{said(gained)} is a value of it now", ()


def said(fact: Any) -> str:
    """A fact of a record, short enough for a line."""
    if fact is None:
        return "nothing"
    if isinstance(fact, dict) and "form" in fact:
        return said(fact["form"])
    text = fact if isinstance(fact, str) else msgspec.json.encode(fact, order="sorted").decode()
    return text if len(text) <= 200 else f"{text[:200]}..."


def _said_absent(fact: Any) -> str:
    return "None" if fact is True else said(fact)


def facts_of(value: Any) -> dict[str, Any]:
    """The facts of a form that has some; none of another."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
