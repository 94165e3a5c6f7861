"""Conditions, updates and projections as frozen values, and their texts for a request.

    attr(User.age).add(1)                                  # an Update
    (attr(User.age) >= 18) & ~attr(User.phone).exists()    # a Condition
    Expressions((User,)).condition(...)                    # "(#0 >= :0 AND NOT (attribute_exists(#1)))"

Begin with `conditions` (what a caller writes), then `texts` (what is sent) and `shapes` (texts that are made
once; `stored_shapes` those of layers).
"""

from singletable.expressions.comparisons import OPERATORS as OPERATORS
from singletable.expressions.conditions import (
    Attribute as Attribute,
    Condition as Condition,
    Given as Given,
    Size as Size,
    Stored as Stored,
    Update as Update,
    attr as attr,
    handles_in as handles_in,
    present as present,
    words as words,
)
from singletable.expressions.handles import (
    Handle as Handle,
    first_name as first_name,
    is_element as is_element,
    is_whole as is_whole,
    owner_of as owner_of,
    resolve as resolve,
)
from singletable.expressions.parent_paths import Parent as Parent, parents_of as parents_of
from singletable.expressions.shapes import (
    Blanks as Blanks,
    BlankValues as BlankValues,
    Parted as Parted,
    Shape as Shape,
    Unshaped as Unshaped,
    parted_condition as parted_condition,
    parted_updates as parted_updates,
)
from singletable.expressions.stored_shapes import StoredTexts as StoredTexts, stored_texts as stored_texts
from singletable.expressions.texts import (
    AttributeChange as AttributeChange,
    Expressions as Expressions,
    encoded as encoded,
    stored_or_absent as stored_or_absent,
)
