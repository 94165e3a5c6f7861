"""A set inside another value: DynamoDB stores no empty one, and an attribute alone may be left out instead."""

from __future__ import annotations

import pytest

from singletable import Entity, InvalidValue, Key, Table, field
from singletable.schema.models import model_of

store = Table("store")


class Crate(Entity, table=store, type="crate"):
    id: str
    labels: set[str] = field(default_factory=set[str])
    members: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    @store.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"{id}", "crate"


def test_an_empty_one_is_refused_by_name() -> None:
    with pytest.raises(InvalidValue, match=r"no empty set inside another value .*Crate\.members"):
        model_of(Crate).item(Crate(id="1", members={"a": set()}))


def test_an_attribute_that_is_one_is_left_out() -> None:
    item = model_of(Crate).item(Crate(id="1", members={"a": {"x"}}))
    assert "labels" not in item
    assert item["members"] == {"M": {"a": {"SS": ["x"]}}}
