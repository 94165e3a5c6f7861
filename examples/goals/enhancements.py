"""A file of enhancement proposals, one JSON object a line, as values: read and checked before anything is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, cast

from examples.goals.errors import Invalid

STAGES = ("alpha", "beta", "stable", "deprecated", "removed")
"""In the order in which they are reached."""


@dataclass(frozen=True)
class Milestone:
    """A stage that has a release; a stage without one is not planned."""

    stage: str
    release: str
    is_reached: bool


@dataclass(frozen=True)
class Enhancement:
    """One line. People and teams are named as they stand in the file; nobody is in two roles."""

    id: str
    title: str
    status: str
    created: date | None
    """None where the line says no date."""
    teams: frozenset[str]
    owner: str
    leads: frozenset[str]
    contributors: frozenset[str]
    see_also: frozenset[str]
    replaces: frozenset[str]
    milestones: tuple[Milestone, ...]

    @property
    def progress(self) -> int:
        """The milestones that are reached, in percent; without milestones, whether it is done."""
        if not self.milestones:
            return 100 if self.status == DONE else 0
        return 100 * sum(m.is_reached for m in self.milestones) // len(self.milestones)


DONE = "implemented"


def read(text: str) -> list[Enhancement]:
    """Every line of a file. Invalid names the first that is none, or an id that comes twice."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    raw = [(number, _object(number, line)) for number, line in lines]
    ids = [str(line["id"]) for _, line in raw]
    if len(set(ids)) < len(ids):
        twice = next(id for id in ids if ids.count(id) > 1)
        raise Invalid(f"the id {twice!r} comes twice")
    found = [_enhancement(number, line, frozenset(ids)) for number, line in raw]
    _check_key_results(found)
    return found


def key_result_id(goal_id: str, stage: str) -> str:
    return f"{goal_id}-{stage}"


def _object(number: int, line: str) -> dict[str, Any]:
    try:
        found: Any = json.loads(line)
    except ValueError as error:
        raise Invalid(f"line {number} is no JSON: {error}") from error
    if not isinstance(found, dict) or not isinstance(cast(dict[str, Any], found).get("id"), str):
        raise Invalid(f"line {number} is no object with an id")
    return cast(dict[str, Any], found)


def _enhancement(number: int, line: dict[str, Any], ids: frozenset[str]) -> Enhancement:
    try:
        leads = frozenset(_texts(line, "authors"))
        others = ids - {line["id"]}
        return Enhancement(
            id=line["id"],
            title=_text(line, "title"),
            status=_text(line, "status"),
            created=_date(_text(line, "created")),
            teams=frozenset({_text(line, "owning_sig"), *_texts(line, "participating_sigs")}),
            owner=_text(line, "owning_sig"),
            leads=leads,
            contributors=frozenset([*_texts(line, "reviewers"), *_texts(line, "approvers")]) - leads,
            see_also=_linked(_texts(line, "see_also"), others),
            replaces=_linked(_texts(line, "replaces"), others),
            milestones=tuple(_milestones(line)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid(f"line {number}, {line['id']!r}: {error}") from error


def _text(line: dict[str, Any], name: str) -> str:
    value = line[name]
    if not isinstance(value, str) or not value:
        raise TypeError(f"{name} is no text")
    return value


def _texts(line: dict[str, Any], name: str) -> Sequence[str]:
    values: object = line.get(name) or []
    if not isinstance(values, list):
        raise TypeError(f"{name} is no list")
    texts = [value for value in cast(list[object], values) if isinstance(value, str) and value]
    if len(texts) != len(cast(list[object], values)):
        raise TypeError(f"{name} holds what is no text")
    return texts


def _date(text: str) -> date | None:
    """Written with or without zeros in front; a template's yyyy-mm-dd is no date."""
    parts = text.split("-")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        return None
    year, month, day = map(int, parts)
    return date(year, month, day)


def _linked(paths: Iterable[str], others: frozenset[str]) -> frozenset[str]:
    """The ids of other lines that stand in paths as a part of their own."""
    return frozenset(part for path in paths for part in path.split("/") if part in others)


def _milestones(line: dict[str, Any]) -> Iterable[Milestone]:
    """A stage before the line's own is reached; its own is, once the line is done."""
    releases: dict[str, str | None] = line.get("milestone") or {}
    stage = line.get("stage")
    done = line["status"] == DONE
    at = STAGES.index(stage) if stage in STAGES else len(STAGES) if done else -1
    for place, name in enumerate(STAGES):
        if release := releases.get(name):
            yield Milestone(name, str(release), place < at or (place == at and done))


def _check_key_results(found: Sequence[Enhancement]) -> None:
    ids = {e.id for e in found}
    taken = [id for e in found for m in e.milestones if (id := key_result_id(e.id, m.stage)) in ids]
    if taken:
        raise Invalid(f"the id {taken[0]!r} is also that of a milestone")
