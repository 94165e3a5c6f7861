"""Python values and attribute values: what is stored for a declared type, exactly, and how fast.

Begin with `plans` (how one type is stored), then `types` (from an annotation to its plan) and `codecs` (a class's
reader and writer, compiled). `untyped` holds values without a declared type, `sizes` what DynamoDB counts.

    plan_for(list[int])                        # -> ListPlan(INTEGER)
    Codec(User, fields).dump(user)             # -> {"email": {"S": "ada@example.org"}, "age": {"N": "36"}}
"""

from singletable.values.codecs import Codec, Constant, Derived, KeyText, Piece
from singletable.values.decoders import json_decoder
from singletable.values.plans import Field, Plan, Role, Source, quoted, wire_struct
from singletable.values.sizes import (
    MAX_ITEM_BYTES,
    MAX_TRANSACTION_BYTES,
    item_size,
    largest_attributes,
    value_size,
)
from singletable.values.types import METADATA, bare, check_within, make_field, plan_for, split_optional
from singletable.values.untyped import AttributeValue, from_attribute_value, to_attribute_value

__all__ = [
    "MAX_ITEM_BYTES",
    "MAX_TRANSACTION_BYTES",
    "METADATA",
    "AttributeValue",
    "Codec",
    "Constant",
    "Derived",
    "Field",
    "KeyText",
    "Piece",
    "Plan",
    "Role",
    "Source",
    "bare",
    "check_within",
    "from_attribute_value",
    "item_size",
    "json_decoder",
    "largest_attributes",
    "make_field",
    "plan_for",
    "quoted",
    "split_optional",
    "to_attribute_value",
    "value_size",
    "wire_struct",
]
