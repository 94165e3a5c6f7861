"""A class with an attribute of each type that is drawn, and things of it with one value each."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from typing import Any, Optional, cast

from hypothesis import HealthCheck, Phase, settings, strategies as st

from singletable import ANY, Database, Entity, Table, field
from singletable.errors import InvalidValue, TooLarge
from singletable.operations import encode, read_item
from singletable.schema import model_of
from singletable.values import plan_for
from tests.doors.drawn import ALL
from tests.doors.law import is_same

Drawn = list[tuple[str, Any]]
"""Attributes, with a value for each."""
NAMES = {f"v{number}": name for number, name in enumerate(ALL)}
"""The attributes of the class, each of one declared type."""


def type_of(attribute: str) -> Any:
    """The declared type of an attribute, where it is there."""
    return ALL[NAMES[attribute]][0]


things = Table("things", stream="new_and_old")
masked_things = Table("masked-things")
forms = Table("forms")


def _class(table: Table, *, personal: bool = False, attributes: Iterable[str] = NAMES, name: str = "Thing") -> Any:
    def of(id: str = cast(str, ANY)) -> Any:
        """All of them."""
        return name.lower(), f"{id}"

    of.__annotations__ = {"id": str}
    annotations: dict[str, Any] = {"id": str}
    body: dict[str, Any] = {"__annotations__": annotations, "of": table.key(staticmethod(of))}
    for attribute in attributes:
        declared = type_of(attribute)
        is_set = plan_for(declared).is_set
        annotations[attribute] = declared if is_set or declared is Any else Optional[declared]  # noqa: UP045
        body[attribute] = field(default_factory=set[Any] if is_set else cast("Any", type(None)), personal=personal)
    return types.new_class(name, (Entity,), {"table": table, "type": name.lower()}, lambda made: made.update(body))


Thing: Any = _class(things)
MaskedThing: Any = _class(masked_things, personal=True)
FORMED = [_class(forms, attributes=list(NAMES)[half::2], name=f"Formed{half}") for half in (0, 1)]
"""Half of the attributes each: all of them are more than the studio compares."""


def _draw(attributes: list[str]) -> st.SearchStrategy[tuple[str, Any]]:
    return st.sampled_from(attributes).flatmap(lambda at: st.tuples(st.just(at), ALL[NAMES[at]][1]))


fifty: st.SearchStrategy[Drawn] = st.tuples(*(_draw(list(NAMES)[first::50]) for first in range(50))).map(list)
"""Of each fiftieth type in turn, so that the simplest of all is of fifty types."""
few = settings(max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
"""The first is the simplest of all, the other is drawn. Fifty values that fail are not made fewer, which takes minutes:
the failure names the one."""


def emptied(db: Database, kind: Any = Thing) -> None:
    db.create_table(kind.__table__)
    db.write_many(deletes=[kind.of(each.id) for each in db.scan(kind)])


def things_of(drawn: Drawn, kind: Any = Thing) -> list[Any]:
    return [kind(id=f"{number:02}", **{attribute: value}) for number, (attribute, value) in enumerate(drawn)]


def stored(drawn: Drawn, kind: Any = Thing) -> dict[str, Any]:
    """The things that an item holds, as it gives them back: what refuses the others is the law of the pure doors."""
    model: Any = model_of(kind)
    kept: dict[str, Any] = {}
    for thing in things_of(drawn, kind):
        try:
            kept[thing.id] = model.load(read_item(encode(model.item(thing))))
        except (InvalidValue, TooLarge):
            continue
    return kept


def assert_same(found: list[Any], kept: Mapping[str, Any], drawn: Drawn) -> None:
    assert {thing.id for thing in found} == set(kept)
    for thing in found:
        attribute, value = drawn[int(thing.id)]
        assert is_same(getattr(thing, attribute), value, type_of(attribute)), (attribute, value)
