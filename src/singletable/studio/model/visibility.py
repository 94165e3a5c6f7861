"""A table's declarations as somebody may see them who may not read every class: the others are not named at all."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from singletable.studio.model.views import AttributeView, ClassView, CollectionView, RelationView, TableView


def readable(table: TableView, names: Collection[str]) -> TableView:
    """The classes of these names. Tasks and consumers belong to no class: they are left out."""
    collections = tuple(each for each in table.collections if _members(each) <= {*names})
    shown = {each.name for each in collections}
    return replace(
        table,
        classes=tuple(_class(each, names, shown) for each in table.classes if each.name in names),
        indexes=tuple(replace(i, classes=tuple(n for n in i.classes if n in names)) for i in table.indexes),
        collections=collections,
        tasks=(),
        consumers=(),
    )


def _members(collection: CollectionView) -> set[str]:
    types = (each.type.removesuffix(" | None") for each in collection.members)
    return {each[len("list[") : -1] if each.startswith("list[") else each for each in types}


def _class(view: ClassView, names: Collection[str], collections: Collection[str]) -> ClassView:
    ends = view.ends
    return replace(
        view,
        attributes=tuple(_attribute(each, names) for each in view.attributes),
        relations=tuple(each for each in view.relations if _is_shown(each, names)),
        named_by=tuple(each for each in view.named_by if _is_shown(each, names)),
        collections=tuple(each for each in view.collections if each in collections),
        ends=ends and (_only(ends[0], names), _only(ends[1], names)),
    )


def _attribute(view: AttributeView, names: Collection[str]) -> AttributeView:
    """Without what it names of a class that is not shown: `belongs to User.email`."""
    kept = (bond for bond in view.bonds if bond.rpartition(" ")[2].rpartition(".")[0] in names)
    return replace(view, bonds=tuple(kept))


def _is_shown(relation: RelationView, names: Collection[str]) -> bool:
    return relation.holder in names and relation.subject in names


def _only(found: tuple[str, ...], names: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in found if name in names)
