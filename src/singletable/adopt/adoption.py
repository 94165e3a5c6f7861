"""Adoption: from items of a table to a module that declares it, and a report. It sends nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from unicodedata import normalize

from msgspec import Struct

from singletable.adopt.kind_reader import KindReader
from singletable.adopt.kinds import kinds_in
from singletable.adopt.layout import TableLayout
from singletable.adopt.module_text import GLOBALS, ModuleText, identifier
from singletable.adopt.specs import KindSpec
from singletable.adopt.trial import ClassTrials, table_in, trial_of
from singletable.errors import InvalidRequest
from singletable.foundation import place_in
from singletable.operations import Item

_RARE = 3
"""The least items of a kind: equal values in fewer may be chance."""
_MARKS = "#/-"


class Unexplained(Struct, frozen=True):
    """Items that no class of the module makes again."""

    what: str
    count: int
    example: tuple[str, str]
    """The key of one of them."""


class Adopted(Struct, frozen=True):
    """A module of a table, and what is sure of it."""

    source: str
    kinds: Sequence[KindSpec]
    items: int
    explained: Mapping[str, int]
    """The items of each class, by its type, that it makes again byte for byte."""
    unexplained: Sequence[Unexplained]
    rare: Sequence[str]
    """The types of kinds that few items are of."""
    undeclared: Mapping[str, Sequence[str]]
    """The attributes that a class does not declare, by its type. Writes keep them."""
    ignored: Mapping[str, str]
    """The indexes that are not declared, with the reason."""


def adopted(items: Sequence[Item], layout: TableLayout) -> Adopted:
    """The module of a table, from some of its items. InvalidRequest for items that have nothing in common."""
    if not items:
        raise InvalidRequest(
            f"{layout.name} has no items to adopt", table=layout.name, hint="Read more of it: a larger --sample."
        )
    key = tuple(name for name in layout.key if name)
    named, kinds = kinds_in(items, layout.attributes, key)
    text = ModuleText(layout, named, _separator(items, key))
    trials = ClassTrials(text)
    refused = _tried(kinds, layout, named, trials)
    reasons = {id(item): why for name, why in refused.items() for item in kinds[name]}
    if not trials.kinds:
        raise InvalidRequest(
            f"the items of {layout.name} have nothing in common that a class could say"
            + "".join(f"; {name}: {why}" for name, why in trials.refused.items()),
            table=layout.name,
            hint="Read and write them by Raw(db, name): docs/how-to/raw.md.",
        )
    return _told(items, layout, text, trials, reasons)


def _tried(
    kinds: Mapping[str, Sequence[Item]], layout: TableLayout, named: str | None, trials: ClassTrials
) -> Mapping[str, str]:
    """Take in the kinds that a class makes again, the ones with most literals first. Returns why the others are not."""
    titles = titles_of([*kinds], trials.titles)
    readers = {
        name: KindReader(_type_of(name, title, named), title, some, layout, named)
        for (name, some), title in zip(kinds.items(), titles, strict=True)
    }
    specs = {name: spec for name, reader in readers.items() if (spec := reader.spec()) is not None}
    for name in sorted(specs, key=lambda name: (_vagueness(specs[name]), -len(kinds[name]))):
        trials.take(specs[name], kinds[name])
    taken = {kind.type for kind in trials.kinds}
    return {
        name: f"{reader.type}: {trials.refused.get(reader.type, 'nothing makes its keys')}"
        for name, reader in readers.items()
        if reader.type not in taken
    }


def _told(
    items: Sequence[Item], layout: TableLayout, text: ModuleText, trials: ClassTrials, reasons: Mapping[int, str]
) -> Adopted:
    """The module, and what it makes of each item."""
    source = text.source(trials.kinds)
    table = table_in(source, text.variable)
    explained: Counter[str] = Counter()
    others: dict[str, list[Item]] = {}
    undeclared: dict[str, set[str]] = {}
    for item in items:
        trial = trial_of(table, item)
        if trial.is_exact:
            explained[trial.type] += 1
            undeclared.setdefault(trial.type, set()).update(trial.undeclared)
        elif not trial.type:
            others.setdefault(reasons.get(id(item), "no class has such a key"), []).append(item)
        else:
            what = trial.refused or f"{', '.join(trial.different)} would be written otherwise"
            others.setdefault(f"{trial.type}: {what}", []).append(item)
    unexplained = [Unexplained(what, len(some), place_in(table, some[0])) for what, some in others.items()]
    return Adopted(
        source,
        trials.kinds,
        len(items),
        explained,
        unexplained,
        [kind.type for kind in trials.kinds if kind.items < _RARE],
        {name: sorted(some) for name, some in undeclared.items() if some},
        layout.ignored,
    )


def titles_of(names: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """A class's name for each kind, by its type or its keys' beginnings."""
    titles: list[str] = []
    for name in names:
        words = [_plain(part).split() for part in name.split(" ")]
        sort = "".join(map(_capital, words[-1]))
        whole = "".join(_capital(word) for part in words for word in part)
        title = (
            sort if len(words) > 1 and sort and sort.lower() not in _VAGUE and not _is_shared(name, names) else whole
        )
        title = f"Kind{title}" if not title[:1].isalpha() else title
        while title in titles or title in taken or title in _TAKEN:
            title += "Item" if title in _TAKEN else "2"
        titles.append(title)
    return titles


_VAGUE = frozenset({"metadata", "meta", "info", "details", "data", "root", "self"})
_TAKEN = GLOBALS | {"False", "None", "True"}


def _plain(text: str) -> str:
    """A text with a space for each character that a name in Python does not have."""
    folded = normalize("NFKC", text).replace("_", " ")
    return "".join(one if f"a{one}".isidentifier() else " " for one in folded)


def _capital(word: str) -> str:
    return word[:1].upper() + (word[1:].lower() if word.isupper() else word[1:])


def _is_shared(name: str, names: Sequence[str]) -> bool:
    """Whether other kinds end alike."""
    return sum(other.split(" ")[-1] == name.split(" ")[-1] for other in names) > 1


def _type_of(name: str, title: str, named: str | None) -> str:
    """The type of a kind: that of its attribute, or a word for a class that is known by its key."""
    return name if named else identifier(title)


def _separator(items: Sequence[Item], key: Sequence[str]) -> str:
    """The sign that most keys have, if a table may be declared with it. An identifier has a sign often, in one key."""
    signs = Counter(sign for item in items for name in key for sign in {*item[name].get("S", "")} & {*"#/|:-"})
    usual = max(signs, key=lambda sign: (signs[sign], sign == "#"), default="#")
    return usual if usual in _MARKS else "#"


def _vagueness(kind: KindSpec) -> int:
    """The key attributes of the table that hold no literal: such a class could have the keys of others."""
    return sum(not any(isinstance(piece, str) for piece in text.pieces) for text in kind.keys[0].texts)
