"""Values of attributes that no class declares."""

from __future__ import annotations

import pytest

from singletable.values.untyped import from_attribute_value


@pytest.mark.parametrize("value", [{"X": "1"}, {}, {"S": "a", "N": "1"}])
def test_a_value_of_no_known_type_is_refused(value: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="an attribute value"):
        from_attribute_value(value)
