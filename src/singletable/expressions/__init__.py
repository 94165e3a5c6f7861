"""Conditions, updates and projections as frozen values, and their texts for a request.

    attr(User.age).add(1)                                  # an Update
    (attr(User.age) >= 18) & ~attr(User.phone).exists()    # a Condition
    Expressions((User,)).condition(...)                    # "(#0 >= :0 AND NOT (attribute_exists(#1)))"

Begin with `conditions` (what a caller writes), then `texts` (what is sent).
"""

from singletable.expressions.comparisons import OPERATORS
from singletable.expressions.conditions import (
    Attribute,
    Condition,
    Given,
    Size,
    Stored,
    Update,
    attr,
    handles_in,
    present,
    words,
)
from singletable.expressions.handles import Handle, first_name, is_element, is_whole, owner_of, resolve
from singletable.expressions.parent_paths import Parent, parents_of
from singletable.expressions.texts import AttributeChange, Expressions, encoded

__all__ = [
    "OPERATORS",
    "Attribute",
    "AttributeChange",
    "Condition",
    "Expressions",
    "Given",
    "Handle",
    "Parent",
    "Size",
    "Stored",
    "Update",
    "attr",
    "encoded",
    "first_name",
    "handles_in",
    "is_element",
    "is_whole",
    "owner_of",
    "parents_of",
    "present",
    "resolve",
    "words",
]
