"""What a person types on the command line for a value of a key."""

from __future__ import annotations

from singletable.pattern_calls import READERS, WANTED
from singletable.schema.key_values import SORTABLE


def test_each_type_of_keys_can_be_typed_and_is_explained() -> None:
    assert READERS.keys() == set(SORTABLE)
    assert WANTED.keys() == set(SORTABLE) - {str}, "every text is a str"
