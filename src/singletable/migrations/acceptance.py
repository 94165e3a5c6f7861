"""Acceptance: the refusals of a plan after it has counted, and the ones that a person has accepted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from singletable.errors import InvalidRequest
from singletable.migrations.item_counts import Counted, ItemCounts
from singletable.migrations.refusals import PlanRefused, Refusal
from singletable.migrations.rules import RULES, ModelDifference

Accepted = Sequence[tuple[str, str]]
"""The accepted differences, each by its rule and its subject: `("type.changed", "Order.total")`."""
_REASONS: dict[str, Refusal] = {
    "key.changed": "changed key",
    "unique.added": "values not unique",
    "class.removed": "items left behind",
    "class.converted": "items not converted",
}


def check_accepted(accept: Accepted) -> None:
    """InvalidRequest for a rule that doesn't exist, or that nothing is refused by."""
    known = [name for name, rule in RULES.items() if rule.counts]
    for rule, subject in accept:
        if rule not in known:
            raise InvalidRequest(
                f"{rule} {subject} can't be accepted: no plan is refused by that name",
                hint=f"It is one of {', '.join(known)}, and the class or its attribute.",
            )


def is_accepted(difference: ModelDifference, accept: Accepted) -> bool:
    """Whether a person has accepted a difference, by the name of its class or by its stored type."""
    return any((difference.rule, name) in accept for name in difference.names)


def accepted_in(differences: Iterable[ModelDifference], accept: Accepted) -> tuple[str, ...]:
    """The accepted differences, in the words of a plan."""
    return tuple(f"{one.rule} {one.subject}: {one.what}" for one in differences if is_accepted(one, accept))


def refuse_counted(reading: ItemCounts, accept: Accepted) -> None:
    """Raise PlanRefused for counted items that nobody has accepted."""
    counted = [count for count in reading.counted() if not is_accepted(count.difference, accept)]
    if counted:
        raise _refused(reading, counted)


def _refused(reading: ItemCounts, counted: Sequence[Counted]) -> PlanRefused:
    first = counted[0].difference
    ways = " ".join(f"--accept {count.difference.rule} {count.difference.subject}" for count in counted)
    left = [count.difference.type for count in counted if count.difference.rule == "class.removed"]
    purge = f" To delete what is left: {' '.join(f'--purge {name}' for name in left)}." if left else ""
    how = "Mend the items, or declare what they were, as by field(was=): docs/how-to/versions.md."
    return PlanRefused(
        f"of {reading.seen} items that were read, {'; '.join(one.without_keys for one in counted)}",
        reason=_REASONS.get(first.rule, "items unreadable"),
        counted=tuple(counted),
        table=reading.table.name,
        hint=f"{how}{purge} To go on all the same: {ways}.",
    )
