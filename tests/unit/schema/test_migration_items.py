"""What migrations keep in a table: keys that no other class may have."""

from __future__ import annotations

import pytest

from singletable import Entity, Key, Table
from singletable.errors import DeclarationError
from singletable.schema.migration_items import fill_parts_of
from singletable.schema.models import model_of


@pytest.mark.parametrize("separator", ["#", "/", "-"])
def test_a_part_and_its_key(separator: str) -> None:
    kind = fill_parts_of(Table("kept", separator=separator))
    part = kind(declaration="d1", segment=3, segments=4)
    assert model_of(kind).place_of(part) == ("_migration", separator.join(("fill", "d1", "a3")))
    moved = part.moved({"pk": {"S": "a"}, "sk": {"S": "b"}}, 100, 7)
    assert (moved.after, moved.seen, moved.written, moved.is_over) == (
        {"pk": {"S": "a"}, "sk": {"S": "b"}},
        100,
        7,
        False,
    )
    over = moved.moved(None, 5, 0)
    assert (over.after, over.seen, over.written, over.is_over) == (None, 105, 7, True)


def test_no_other_class_has_its_keys_or_its_type() -> None:
    taken, allowed = Table("taken"), Table("allowed")
    with pytest.raises(DeclarationError, match="what migrations keep"):

        class Same(Entity, table=taken, type="same"):
            id: str

            @taken.key
            @staticmethod
            def by_id(id: str) -> Key:
                return "_migration", f"fill#{id}"

    with pytest.raises(DeclarationError, match="what migrations keep"):

        class Named(Entity, table=taken, type="_migration"):
            id: str

            @taken.key
            @staticmethod
            def by_id(id: str) -> Key:
                return f"x#{id}", "x"

    class Beside(Entity, table=allowed, type="beside"):
        id: str

        @allowed.key
        @staticmethod
        def by_id(id: str) -> Key:
            return "_migration", f"note#{id}"
