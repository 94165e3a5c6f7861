"""Python values and attribute values: what is stored for a declared type, exactly, and how fast.

Begin with `value_types` (all that is known of each type), then `plans` (how one type is stored), `key_types` (how a key
holds it), `types` (from an annotation to its plan) and `codecs` (a class's reader and writer, compiled). `kinds` is
what lies above asks for, `untyped` holds values without a declared type, `sizes` what DynamoDB counts.

    plan_for(list[int])                        # -> ListPlan(INTEGER)
    Codec(User, fields).dump(user)             # -> {"email": {"S": "ada@example.org"}, "age": {"N": "36"}}
"""

from singletable.values.checks import name_owner
from singletable.values.codecs import Codec, Constant, Derived, KeyText, Piece
from singletable.values.decoders import json_decoder
from singletable.values.key_types import SEPARATORS, TOP, EnumText, KeyType, Place, Verbatim
from singletable.values.kinds import Kind, PerKind
from singletable.values.numbers import normalized, read_float
from singletable.values.plans import (
    Field,
    FreePlan,
    ListPlan,
    MapPlan,
    OptionalPlan,
    Plan,
    Role,
    Scalar,
    SetPlan,
    Source,
    quoted,
    wire_struct,
)
from singletable.values.shapes import ANYTHING, Steps, exactly, of_shape
from singletable.values.sizes import (
    MAX_ITEM_BYTES,
    MAX_TRANSACTION_BYTES,
    item_size,
    largest_attributes,
    text_size,
    texts_size,
    value_size,
)
from singletable.values.types import METADATA, NestedPlan, bare, check_within, make_field, plan_for, split_optional
from singletable.values.untyped import AttributeValue, from_attribute_value, to_attribute_value
from singletable.values.value_types import FLAG, INSTANT, INTEGER, TEXT, VALUE_TYPES, ValueType, value_type_of

__all__ = [
    "ANYTHING",
    "FLAG",
    "INSTANT",
    "INTEGER",
    "MAX_ITEM_BYTES",
    "MAX_TRANSACTION_BYTES",
    "METADATA",
    "SEPARATORS",
    "TEXT",
    "TOP",
    "VALUE_TYPES",
    "AttributeValue",
    "Codec",
    "Constant",
    "Derived",
    "EnumText",
    "Field",
    "FreePlan",
    "KeyText",
    "KeyType",
    "Kind",
    "ListPlan",
    "MapPlan",
    "NestedPlan",
    "OptionalPlan",
    "PerKind",
    "Piece",
    "Place",
    "Plan",
    "Role",
    "Scalar",
    "SetPlan",
    "Source",
    "Steps",
    "ValueType",
    "Verbatim",
    "bare",
    "check_within",
    "exactly",
    "from_attribute_value",
    "item_size",
    "json_decoder",
    "largest_attributes",
    "make_field",
    "name_owner",
    "normalized",
    "of_shape",
    "plan_for",
    "quoted",
    "read_float",
    "split_optional",
    "text_size",
    "texts_size",
    "to_attribute_value",
    "value_size",
    "value_type_of",
    "wire_struct",
]
