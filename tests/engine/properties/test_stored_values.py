"""What is read from the engine is what was written to it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from singletable import Database, key_of
from tests.property.shapes import sets, shape


@settings(max_examples=40)
@given(st.data())
def test_through_the_engine(db: Database, data: st.DataObject) -> None:
    entity = data.draw(shape | sets)
    db.put(entity)
    assert db.get(key_of(entity)) == entity
    (read,) = db.all(key_of(entity))
    assert read == entity
