"""Relations between datasets: a class that names items of another one, from the declarations.

    organisation_member  joins  organisation   organisation_id = organisation_id
    goal_membership      joins  goal           source = 'GOAL-' || id

A class is joined with another one where it says `belongs_to=` or `mentions=`, where its key or one of its index keys
has the other's partition key, and, of an edge, with the nodes at its ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from singletable.exchange import Dataset
from singletable.foundation import Template, named_in_keys, references_of


@dataclass(frozen=True)
class Join:
    """One condition of a relation: a column of the left one is a column of the right one, after a text."""

    column: str
    prefix: str
    other: str


@dataclass(frozen=True)
class Relation:
    """Rows of a class with the rows that they name of another one."""

    name: str
    left: str
    right: str
    joins: tuple[Join, ...]
    is_mention: bool = False


def relations_of(datasets: Sequence[Dataset]) -> tuple[Relation, ...]:
    """The relations between datasets of entity classes, each with a name of its own.

    `member_user` for the only way from member to user, or the only one that is not a mention; the other ways are named
    by their attributes, `member_user_by_changed_by`.
    """
    own = [dataset for dataset in datasets if not dataset.is_system]
    relations: dict[tuple[str, str, tuple[Join, ...]], Relation] = {}
    for relation in (each for left in own for each in _of(left, own)):
        relations.setdefault((relation.left, relation.right, relation.joins), relation)
    taken = {dataset.name for dataset in datasets}
    return tuple(_named(list(relations.values()), taken))


def _of(left: Dataset, all: Sequence[Dataset]) -> Iterator[Relation]:
    """The relations of one class, surest first."""
    yield from _by_ends(left, all)
    references = [each for each in references_of(left.table) if each.holder is left.model.kind]
    for reference in sorted(references, key=lambda each: each.bond == "mentions"):
        for right in all:
            if reference.subject is right.model.kind and _are_scalar(left, reference.names):
                joins = tuple(Join(name, "", other) for name, other in reference.names.items())
                yield Relation("", left.name, right.name, joins, reference.bond == "mentions")
    for right in all:
        if right is not left:
            yield from _by_key(left, right)


def _by_ends(left: Dataset, all: Sequence[Dataset]) -> Iterator[Relation]:
    """The nodes at the ends of an edge."""
    kind: Any = left.model.kind
    for column, kinds in (("source", "__sources__"), ("target", "__targets__")):
        for right in all:
            if right.model.kind in getattr(kind, kinds, ()):
                prefix, name = _one_value(right.model.key.templates[0])
                if name:
                    yield Relation("", left.name, right.name, (Join(column, prefix, name),))


def _one_value(template: Template) -> tuple[str, str]:
    """The text before the one value of a key, and the value's name; none where it has more."""
    pieces, end = template.pieces
    if len(pieces) != 1 or end:
        return "", ""
    literal, slot = pieces[0]
    return literal, slot.name


def _by_key(left: Dataset, right: Dataset) -> Iterator[Relation]:
    """The relations by a key of the left class that has the partition key of one item of the right class."""
    for names in named_in_keys(left.model, right.model):
        if _are_scalar(left, [own for own, _ in names]):
            yield Relation("", left.name, right.name, tuple(Join(own, "", other) for own, other in names))


def _are_scalar(dataset: Dataset, names: Any) -> bool:
    """Whether each is a column that holds one value."""
    columns = {column.name: str(column.column.type) for column in dataset.columns}
    return all(name in columns and not columns[name].startswith(("list", "struct", "map")) for name in names)


def _named(relations: Sequence[Relation], taken: set[str]) -> Iterator[Relation]:
    sure = Counter((relation.left, relation.right) for relation in relations if not relation.is_mention)
    any_ = Counter((relation.left, relation.right) for relation in relations)
    for relation in relations:
        pair = (relation.left, relation.right)
        is_plain = (sure[pair] == 1 and not relation.is_mention) or any_[pair] == 1
        name = f"{relation.left}_{relation.right}"
        name = name if is_plain else f"{name}_by_{'_'.join(join.column for join in relation.joins)}"
        while name in taken:
            name = f"{name}_joined"
        taken.add(name)
        yield Relation(name, relation.left, relation.right, relation.joins, relation.is_mention)
