"""From a key template to what `dynamodb:LeadingKeys` holds: patterns of the partition keys that it writes.

user#{email}            user#*
invoice#{state}#{day}   invoice#open#*, invoice#paid#*     an enum has few texts: each is written out
{contact_id}            refused, as it begins with a value; `where={"contact_id": "c-*"}` says what one looks like
"""

from __future__ import annotations

from collections.abc import Mapping

from singletable.errors import DeclarationError
from singletable.foundation import Slot, Template

ANY_KEY = "*"
MOST_PATTERNS = 24
"""The most patterns of one template. Beyond it, the values of an enum share one pattern."""


def key_patterns(template: Template, where: Mapping[str, str], shown: str) -> tuple[str, ...]:
    """The patterns of a partition key's texts, `where` replacing values by name; DeclarationError for `*` alone.

    A value in `where` is a pattern already: `*` and `?` stand for any text and any character, `${aws:...}` for a
    variable of IAM.
    """
    beginnings = [""]
    for before, slot in template.segments:
        texts = [literal(before) + text for text in _values(slot, where)] if slot else [literal(before)]
        if len(texts) * len(beginnings) > MOST_PATTERNS:
            texts = [literal(before) + ANY_KEY]
        beginnings = [text + more for text in beginnings for more in texts]
    first = template.parts[0]
    if first.slot is not None and first.slot.name not in where and any(text[0] in "*?" for text in beginnings):
        raise DeclarationError(
            f"{shown}: the partition key {template.shown} begins with a value, so no policy can hold its items apart "
            "from those of others",
            hint=f"Begin the key with a literal, or say what the value looks like: "
            f'where={{"{first.slot.name}": "..."}}, with * for any text.',
        )
    return tuple(dict.fromkeys(beginnings))


def covers(wide: str, narrow: str) -> bool:
    """Whether every text of one pattern is one of another; False if that can't be told."""
    if wide in (narrow, ANY_KEY):
        return True
    head = wide[:-1]
    return wide.endswith(ANY_KEY) and "*" not in head and "?" not in head and narrow.startswith(head)


def fewest(patterns: set[str]) -> tuple[str, ...]:
    """Patterns without those that another covers, sorted."""
    return tuple(sorted(p for p in patterns if not any(covers(other, p) for other in patterns if other != p)))


def literal(text: str) -> str:
    """A text in a pattern: `*`, `?` and `$` are escaped so that IAM takes them literally."""
    return "".join(f"${{{c}}}" if c in "*?$" else c for c in text)


def _values(slot: Slot, where: Mapping[str, str]) -> list[str]:
    if slot.name in where:
        return [where[slot.name]]
    return [literal(beginning) + unknown for beginning, unknown in slot.key_type.patterns()]
