"""Changes of forms: which rules of `differences` the change of an attribute's form falls under.

An attribute's form is that of `values.fields`: its type's form, whether it may be absent, its default, its role. Of a
type's form each part is compared: the members of an enum, the attributes of an object in an item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
        for name in sorted((was.keys() | now.keys()) - {"form", "optional", "default"}):
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
    form = facts["form"]
    return bool(facts.get("optional") or facts.get("default")) or (isinstance(form, dict) and "set" in form)


def _absence(was: dict[str, Any], now: dict[str, Any]) -> Iterator[Change]:
    """The reading of an item without the attribute: None, a default, or an error."""
    old, new = (each.get("optional") or each.get("default") for each in (was, now))
    if old == new:
        return
    if new is None:
        yield "attribute.required", "it may not be absent any more", ()
    elif old is not None:
        yield "default.changed", f"without it an item read as {_said_absent(old)}, and now as {_said_absent(new)}", ()
    elif new is True:
        yield "attribute.optional", "it may be absent", ()
    else:
        yield "attribute.added", "it has a default", ()


def form_changes(was: Any, now: Any) -> Iterator[Change]:
    """The rules that another form of values falls under."""
    if was == now:
        return
    if isinstance(was, dict) and isinstance(now, dict) and was.keys() == now.keys():
        if "values" in was and was["of"] == now["of"]:
            yield from _members(was["values"], now["values"])
        elif "object" in was:
            for name in sorted(was["object"].keys() | now["object"].keys()):
                inner = attribute_changes(was["object"].get(name), now["object"].get(name))
                yield from ((_READ_WHOLE.get(rule, rule), f"{name} in it: {what}", ()) for rule, what, _ in inner)
        elif len(was) == 1:
            ((name, inner),) = was.items()
            changes = form_changes(inner, now[name])
            yield from ((_READ_WHOLE.get(rule, rule), what, ()) for rule, what, _ in changes)
        else:
            yield "type.changed", f"it was {said(was)}, and is {said(now)}", ()
    else:
        is_wider = now in ("any", was.get("of") if isinstance(was, dict) else None) or now == {"or null": was}
        yield "type.wider" if is_wider else "type.changed", f"it was {said(was)}, and is {said(now)}", ()


_READ_WHOLE = dict.fromkeys(("attribute.required", "attribute.removed", "default.changed"), "type.changed")
"""Inside of a value nothing says how to count these: the value is read whole."""


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
