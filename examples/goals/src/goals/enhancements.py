"""A file of enhancement proposals, one JSON object a line, as values: read and checked before anything is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, cast

from examples_shared.errors import Invalid
from examples_shared.textfile import MOST_NAME_CHARACTERS, Place, check_identifier, check_text, shown
from examples_shared.unknown import Unknown

MAX_BYTES = 64 * 1024 * 1024
MOST_TITLE_CHARACTERS = 2000
MOST_NAMES = 1000
"""Of one field of a line."""
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


def read(text: str, source: str = "the file", unknown: Unknown | None = None) -> list[Enhancement]:
    """Every line of a file, which complaints call `source`. Invalid names the line of the first that is none, or whose
    id came before; or whose milestone names a stage that is not known, where `unknown` refuses it."""
    unknown = unknown or Unknown()
    raw: dict[str, tuple[Place, dict[str, Any]]] = {}
    # Not splitlines(): a title may hold what that takes for the end of a line.
    for number, line in enumerate(text.split("\n"), start=1):
        place = Place(source, number)
        if line.strip():
            found = _object(place, line)
            if found["id"] in raw:
                first = raw[found["id"]][0].line
                raise place.refuses(f"the id {shown(found['id'])} comes twice; first in line {first}")
            raw[found["id"]] = place, found
    if not raw:
        raise Place(source, 1).refuses("there is nothing in this file")
    ids = frozenset(raw)
    read = [_enhancement(place, line, ids, unknown) for place, line in raw.values()]
    _check_key_results(read, {id: place for id, (place, _) in raw.items()})
    return read


def key_result_id(goal_id: str, stage: str) -> str:
    return f"{goal_id}-{stage}"


def position_of(stage: str) -> int:
    """Where a stage stands among the key results of its goal; those that are not known share the last place."""
    return STAGES.index(stage) if stage in STAGES else len(STAGES)


def _object(place: Place, line: str) -> dict[str, Any]:
    try:
        found: Any = json.loads(line, object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError as error:
        raise place.refuses("no JSON that anybody needs: it is too deep") from error
    except ValueError as error:
        raise place.refuses(f"no JSON: {error}") from error
    if not isinstance(found, dict) or not isinstance(cast(dict[str, Any], found).get("id"), str):
        raise place.refuses("no object with an id that is a text")
    said = cast(dict[str, Any], found)
    try:
        check_identifier(said["id"])
    except ValueError as error:
        raise place.refuses(f"the id {shown(said['id'])}: {error}") from error
    return said


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of a name that stands twice one value would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {shown(twice)} stands twice in one object")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _enhancement(place: Place, line: dict[str, Any], ids: frozenset[str], unknown: Unknown) -> Enhancement:
    try:
        leads = frozenset(_names(line, "authors"))
        others = ids - {line["id"]}
        owner = _name(line, "owning_sig")
        return Enhancement(
            id=line["id"],
            title=_text(line, "title", MOST_TITLE_CHARACTERS),
            status=_text(line, "status"),
            created=_date(line.get("created")),
            teams=frozenset({owner, *_names(line, "participating_sigs")}),
            owner=owner,
            leads=leads,
            contributors=frozenset([*_names(line, "reviewers"), *_names(line, "approvers")]) - leads,
            see_also=_linked(_texts(line, "see_also"), others),
            replaces=_linked(_texts(line, "replaces"), others),
            milestones=tuple(_milestones(place, line, unknown)),
        )
    except Invalid:
        raise
    except (TypeError, ValueError) as error:
        raise place.refuses(f"{shown(line['id'])}: {error}") from error


def _text(line: dict[str, Any], name: str, most_characters: int = MOST_NAME_CHARACTERS) -> str:
    value = line.get(name)
    if not isinstance(value, str) or not value:
        raise TypeError(f"{name} is not a text")
    if len(value) > most_characters:
        raise ValueError(f"{name} has more than {most_characters} characters")
    try:
        check_text(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return value


def _name(line: dict[str, Any], name: str) -> str:
    """Of a team: a part of keys."""
    value = _text(line, name)
    _check_name(name, value)
    return value


def _names(line: dict[str, Any], name: str) -> Sequence[str]:
    values = _texts(line, name)
    for value in values:
        _check_name(name, value)
    return values


def _check_name(name: str, value: str) -> None:
    try:
        check_identifier(value)
    except ValueError as error:
        raise ValueError(f"{shown(value)} of {name}: {error}") from error


def _texts(line: dict[str, Any], name: str) -> Sequence[str]:
    values: object = line.get(name)
    if values is None:
        return []
    if not isinstance(values, list):
        raise TypeError(f"{name} is not a list")
    for value in cast(list[object], values):
        if not isinstance(value, str) or not value:
            raise TypeError(f"{name} holds what is not a text")
    if len(cast(list[str], values)) > MOST_NAMES:
        raise ValueError(f"{name} has more than {MOST_NAMES} entries")
    return cast(list[str], values)


def _date(said: object) -> date | None:
    """Written with or without zeros in front. None where there is none, or a template's yyyy-mm-dd stands instead."""
    if said is None:
        return None
    if not isinstance(said, str):
        raise TypeError("created is not a text")
    parts = said.split("-")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        return None
    try:
        year, month, day = map(int, parts)
        return date(year, month, day)
    except ValueError as error:
        raise ValueError(f"created is {shown(said)}, which is not a day: {error}") from error


def _linked(paths: Iterable[str], others: frozenset[str]) -> frozenset[str]:
    """The ids of other lines that stand in paths as a part of their own."""
    return frozenset(part for path in paths for part in path.split("/") if part in others)


def _milestones(place: Place, line: dict[str, Any], unknown: Unknown) -> Iterable[Milestone]:
    """A stage before the line's own is reached; its own is, once the line is done. One that is not known comes last."""
    said: object = line.get("milestone")
    if said is not None and not isinstance(said, dict):
        raise TypeError("milestone is not an object")
    releases = cast(dict[str, Any], said or {})
    others = [
        name
        for name in sorted(releases.keys() - {*STAGES})
        if unknown.keeps(
            place, f"{shown(line['id'])}: milestone names {shown(name)}; the stages are {', '.join(STAGES)}"
        )
    ]
    for name in others:
        _check_name("milestone", name)
    stage: object = line.get("stage")
    if stage is not None and not isinstance(stage, str):
        raise TypeError("stage is not a text")
    done = line["status"] == DONE
    at = STAGES.index(stage) if stage in STAGES else len(STAGES) if done else -1
    for number, name in enumerate((*STAGES, *others)):
        if releases.get(name) not in (None, ""):
            is_reached = number < len(STAGES) and (number < at or (number == at and done))
            yield Milestone(name, _text(releases, name), is_reached)


def _check_key_results(found: Sequence[Enhancement], places: Mapping[str, Place]) -> None:
    for e in found:
        for milestone in e.milestones:
            id = key_result_id(e.id, milestone.stage)
            if id in places:
                raise places[id].refuses(
                    f"the id {shown(id)} is also that of a milestone of {shown(e.id)} in line {places[e.id].line}"
                )
