"""What is read from the engine is what was written to it."""

from __future__ import annotations

from hypothesis import given, strategies as st

from singletable import Database, key_of
from tests.property.examples import times
from tests.property.shapes import sets, shape


@times(0.4)
@given(st.data())
def test_through_the_engine(db: Database, data: st.DataObject) -> None:
    entity = data.draw(shape | sets)
    db.put(entity)
    assert db.get(key_of(entity)) == entity
    (read,) = db.all(key_of(entity))
    assert read == entity
