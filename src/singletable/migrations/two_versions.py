"""Two versions of a program on one table: what each verb of either meets, step by step, and in which order to deploy.

All of it is derived from two records of a model. Their differences have rules, a rule has the sights of both programs
(`sights`), and the steps between the records say on which items a program meets a sight, and from when to when.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from singletable.foundation import Table, entity_name
from singletable.migrations.differences import differences
from singletable.migrations.model_document import EntityForm, ModelDocument, document_of, stale_types
from singletable.migrations.rules import ModelDifference
from singletable.migrations.sights import HARMLESS, MEETINGS, OF_VALUES, SIGHTS, Meeting, Sight, Verb

Program = Literal["old", "new"]
AS_EVER = "as ever"
_BEFORE, _ALL = "before any step", "all items"
_VERBS: tuple[Verb, ...] = ("get", "create", "put", "update", "delete")


class Effect(Struct, frozen=True):
    """The outcome of a verb on some items, and the rule that it comes from."""

    rule: str
    subject: str
    what: str
    """The outcome; before a colon, in one word."""
    items: str
    """The items that have it."""


class Cell(Struct, frozen=True):
    """A verb of one program at one time."""

    phase: str
    program: Program
    subject: str
    """A class, or a part of a layer."""
    verb: Verb
    pattern: str = ""
    """The key of a query, and the index that it is in; the attribute of a unique value."""
    effects: tuple[Effect, ...] = ()

    @property
    def sees(self) -> tuple[str, ...]:
        """The outcomes, with the items that have them; `as ever` for none."""
        return tuple(f"{effect.what} ({effect.items})" for effect in self.effects) or (AS_EVER,)


class TwoVersions(Struct, frozen=True):
    """Two versions of a model: their differences, the steps between them, how to deploy, and what programs meet."""

    table: str
    differences: tuple[ModelDifference, ...]
    phases: tuple[str, ...]
    """`before any step`, then each step of the change, during and after it."""
    order: tuple[str, ...]
    """The deployment, in sentences."""
    back: tuple[str, ...]
    """The steps of an apply of the old declaration after that of the new one."""
    lost: tuple[str, ...]
    """The parts that such an apply leaves or loses, by difference."""
    cells: tuple[Cell, ...]
    """Each verb of each class, for each program and each phase."""

    def of(self, program: Program, phase: str, verb: str, subject: str = "") -> tuple[Cell, ...]:
        """The cells of a verb at one time, of one subject or of all."""
        place = program, phase, verb
        return tuple(
            c for c in self.cells if (c.program, c.phase, c.verb) == place and (not subject or c.subject == subject)
        )


def two_versions(old: Table | ModelDocument, new: Table | ModelDocument) -> TwoVersions:
    """Compare what programs of two versions meet on one table, with the order of their deployment. No table is read."""
    names = {**_names(old), **_names(new)}
    was, now = (document_of(one) if isinstance(one, Table) else one for one in (old, new))
    return _Comparison(was, now, names).whole()


def _names(version: Table | ModelDocument) -> dict[str, str]:
    if isinstance(version, ModelDocument):
        return {}
    return {model.type: entity_name(model.kind) for model in (*version.models, *version.leaving)}


class _Comparison:
    """Two documents, their differences, and the steps between them."""

    def __init__(self, old: ModelDocument, new: ModelDocument, names: Mapping[str, str]) -> None:
        self.documents: dict[Program, ModelDocument] = {"old": old, "new": new}
        self.names = names
        self.differences = differences(old, new, names)
        self.raised = {difference.type for difference in self.differences if difference.rule.startswith("version.")}
        self.steps = list(_steps(old, new, self.differences))
        self.phases = [_BEFORE, *(f"{when} {step}" for step in self.steps for when in ("during", "after"))]

    def whole(self) -> TwoVersions:
        cells = tuple(cell for phase in self.phases for cell in self._cells(phase))
        old, new, found = self.documents["old"], self.documents["new"], self.differences
        back = tuple(_steps(new, old, differences(new, old, self.names)))
        lost = tuple(f"{one.subject}: {meeting.back} ({one.rule})" for one in found if (meeting := _met_by(one)).back)
        lost += tuple(
            f"{self.names.get(name, name)}: {count} items that a purge deleted: only a backup or an export has them"
            for name, count in old.purged.items()
            if name in old.declared
        )
        return TwoVersions(new.table, tuple(found), tuple(self.phases), tuple(self._order()), back, lost, cells)

    # --- what programs meet -------------------------------------------------------------------------------------------
    def _cells(self, phase: str) -> Iterator[Cell]:
        programs: tuple[Program, ...] = ("old", "new")
        for program in programs:
            document = self.documents[program]
            for name, form in sorted(document.declared.items()):
                for verb, pattern, index in _doors(form):
                    effects = tuple(self._effects(phase, program, name, verb, index or pattern))
                    whole = tuple(effect for effect in effects if effect.items == _ALL)  # nothing else is met then
                    effects = whole or effects
                    yield Cell(phase, program, self.names.get(name, name), verb, pattern, effects)
            for difference in self.differences:
                if (effect := self._effect(phase, program, difference, "handle")) is not None:
                    yield Cell(phase, program, difference.subject, "handle", "", (effect,))

    def _effects(self, phase: str, program: Program, name: str, verb: Verb, part: str) -> Iterator[Effect]:
        """The effects on a verb of a class; `part` is the index of a query, or the unique attribute."""
        for difference in self.differences:
            is_of_all = not difference.type and (bool(difference.index) or difference.rule == "unknown")
            is_of = difference.type == name or is_of_all
            is_of_part = not difference.index or (verb == "query an index" and part == difference.index)
            is_unique = verb != "unique" or difference.subject.endswith(f".{part}")
            if is_of and is_of_part and is_unique and (effect := self._effect(phase, program, difference, verb)):
                yield effect

    def _effect(self, phase: str, program: Program, difference: ModelDifference, verb: Verb) -> Effect | None:
        sight, items = self._met(phase, program, difference)
        what = SIGHTS[sight].get(verb)
        return None if what is None else Effect(difference.rule, difference.subject, what, items)

    def _met(self, phase: str, program: Program, difference: ModelDifference) -> tuple[Sight, str]:
        """The sight of a program at one time, and the items that have it."""
        sight = self.sight(program, difference)
        if sight == "no index":
            return self._index_sight(phase, program, difference)
        written = _written_by("new" if program == "old" else "old")
        is_filled = difference.kind in ("fill", "move") and "fill" in self.steps
        if not is_filled or self.phases.index(phase) < self.phases.index("during fill"):
            return sight, written
        return sight, f"{written}{' or the fill' if program == 'old' else ', and no fill since'}"

    def _index_sight(self, phase: str, program: Program, difference: ModelDifference) -> tuple[Sight, str]:
        """An index fails for the new program until it is made, and for the old one from when it is dropped. Until then
        it lacks what the new one wrote."""
        step = f"{'drop' if difference.rule == 'index.removed' else 'add'} index {difference.index}"
        place = self.phases.index(phase)
        if program == "new":
            return "no index" if place < self.phases.index(f"after {step}") else "same", _ALL
        is_dropped = place >= self.phases.index(f"during {step}")
        return ("no index", _ALL) if is_dropped else ("unindexed", _written_by("new"))

    def sight(self, program: Program, difference: ModelDifference) -> Sight:
        """The sight by the rule. Upcasters decide on the values of a class whose version is raised."""
        meeting = _met_by(difference)
        sight = meeting.old if program == "old" else meeting.new
        if sight == "lacking":
            sight = "default" if self._may_lack(program, difference) else "unreadable"
        return "same" if self._is_upcast(difference) and sight in OF_VALUES else sight

    def _is_upcast(self, difference: ModelDifference) -> bool:
        return difference.type in self.raised and bool(difference.attribute)

    def _may_lack(self, program: Program, difference: ModelDifference) -> bool:
        form = self.documents[program].entities.get(difference.type)
        facts: Any = ((form.stored if form is not None else None) or {}).get(difference.attribute, {})
        return bool(facts.get("optional") or facts.get("default"))

    # --- how to deploy ------------------------------------------------------------------------------------------------
    def _order(self) -> Iterator[str]:
        """Readers come before writers; what the new program needs is applied before it serves; where neither program
        bears what the other writes, the old one ends first."""
        ends, readers, needs = list[str](), list[str](), list[str]()
        for difference in self.differences:
            old, new = (self.sight(program, difference) not in HARMLESS for program in ("old", "new"))
            if new and difference.kind != "breaking":
                needs.append(difference.subject)
            if old and not new and difference.kind == "ordered":
                readers.append(difference.subject)
            elif old and not (new and difference.kind == "fill"):
                ends.append(difference.subject)
        return self._sentences(_listed(ends), _listed(readers), has_to_apply=bool(needs or ends))

    def _sentences(self, ends: str, readers: str, *, has_to_apply: bool) -> Iterator[str]:
        work = [step for step in self.steps if step != "record"] or self.steps
        applies = f"apply the new declaration ({', '.join(work)})"
        upcast = [difference for difference in self.differences if self._is_upcast(difference)]
        if any(difference.kind == "breaking" and difference not in upcast for difference in self.differences):
            yield "plan against the table: it counts the items that a breaking difference is about, and refuses them"
        if readers:
            yield f"deploy programs that read the new form of {readers}, and don't write it yet"
        if ends:
            yield f"end the programs of the old version: they don't bear what the new one writes of {ends}"
        if has_to_apply:
            yield applies
        yield "deploy the programs of the new version"
        if not ends:
            yield "end the programs of the old version"
        if has_to_apply and "fill" in self.steps and not ends:
            yield "fill: what the old programs wrote last"
        if self.steps and not has_to_apply:
            yield applies


def _doors(form: EntityForm) -> Iterator[tuple[Verb, str, str]]:
    """The verbs of a class: each with the pattern or attribute that it is by, and its index."""
    for verb in _VERBS:
        yield verb, "", ""
    yield "query", " / ".join(form.key), ""
    for index, key in sorted(form.indexes.items()):
        yield "query an index", f"{' / '.join(key)} in {index}", index
    for stored, facts in sorted((form.stored or {}).items()):
        if "guard" in facts:
            yield "unique", facts.get("name", stored), ""


def _steps(old: ModelDocument, new: ModelDocument, changes: list[ModelDifference]) -> Iterator[str]:
    """The steps from one document to the other, as a plan has them. What only the live table tells isn't there."""
    for name, index in new.indexes.items():
        if name in old.indexes and old.indexes[name] != index:
            yield f"drop index {name}"
        if old.indexes.get(name) != index:
            yield f"add index {name}"
    if stale_types(new, old) or any(difference.kind in ("fill", "move") for difference in changes):
        yield "fill"
    yield from (f"drop index {name}" for name in old.indexes if name not in new.indexes)
    if old != new:
        yield "record"


def _met_by(difference: ModelDifference) -> Meeting:
    return MEETINGS.get(difference.rule, MEETINGS["unknown"])


def _written_by(version: Program) -> str:
    return f"items written by the {version} version"


def _listed(subjects: list[str]) -> str:
    return ", ".join(dict.fromkeys(subjects))
