"""Python values and attribute values: what is stored for a declared type, exactly, and how fast.

Begin with `value_types` (all that is known of each type), then `plans` (how one type is stored), `key_types` (how a key
holds it), `types` (from an annotation to its plan) and `codecs` (a class's reader and writer, compiled). `kinds` is
what lies above asks for, `untyped` holds values without a declared type, `sizes` what DynamoDB counts.

    plan_for(list[int])                        # -> ListPlan(INTEGER)
    Codec(User, fields).dump(user)             # -> {"email": {"S": "ada@example.org"}, "age": {"N": "36"}}
"""

from typing import TYPE_CHECKING

from singletable.late_names import late_names
from singletable.values.checks import check_texts as check_texts, name_owner as name_owner
from singletable.values.codecs import Codec as Codec
from singletable.values.decoders import (
    declared_decoder as declared_decoder,
    json_decoder as json_decoder,
    json_form as json_form,
)
from singletable.values.exact import is_kept as is_kept
from singletable.values.fields import (
    Constant as Constant,
    Derived as Derived,
    Field as Field,
    Role as Role,
    Was as Was,
)
from singletable.values.key_enums import EnumText as EnumText
from singletable.values.key_forms import formats_of as formats_of, in_form as in_form
from singletable.values.key_lines import KeyText as KeyText
from singletable.values.key_types import (
    SEPARATORS as SEPARATORS,
    TOP as TOP,
    EscapedText as EscapedText,
    KeyPlace as KeyPlace,
    KeyType as KeyType,
)
from singletable.values.kinds import Kind as Kind, PerKind as PerKind
from singletable.values.lone_values import LoneValue as LoneValue, lone_text as lone_text
from singletable.values.numbers import MAX_DIGITS as MAX_DIGITS, normalized as normalized, read_float as read_float
from singletable.values.other_forms import (
    IsoMilliseconds as IsoMilliseconds,
    PynamoIso as PynamoIso,
    PythonIso as PythonIso,
    ReadsAlso as ReadsAlso,
    TrueText as TrueText,
    ZeroOne as ZeroOne,
    json_text as json_text,
)
from singletable.values.plans import (
    Form as Form,
    FreePlan as FreePlan,
    ListPlan as ListPlan,
    MapPlan as MapPlan,
    OptionalPlan as OptionalPlan,
    Scalar as Scalar,
    SetPlan as SetPlan,
    ValuePlan as ValuePlan,
    wire_struct as wire_struct,
    writer_of as writer_of,
)
from singletable.values.shapes import (
    ANYTHING as ANYTHING,
    ShapeStep as ShapeStep,
    Steps as Steps,
    exactly as exactly,
    of_shape as of_shape,
)
from singletable.values.sizes import (
    MAX_ITEM_BYTES as MAX_ITEM_BYTES,
    MAX_TRANSACTION_BYTES as MAX_TRANSACTION_BYTES,
    item_size as item_size,
    largest_attributes as largest_attributes,
    text_size as text_size,
    texts_size as texts_size,
    value_size as value_size,
)
from singletable.values.source import Source as Source, quoted as quoted
from singletable.values.stored_as import (
    ConvertedPlan as ConvertedPlan,
    EpochMilliseconds as EpochMilliseconds,
    EpochSeconds as EpochSeconds,
    StoredAs as StoredAs,
)
from singletable.values.types import (
    METADATA as METADATA,
    NestedPlan as NestedPlan,
    bare as bare,
    check_name as check_name,
    check_within as check_within,
    is_shown_as_stored as is_shown_as_stored,
    make_field as make_field,
    plan_for as plan_for,
    split_optional as split_optional,
)
from singletable.values.undeclared import (
    IN_PART as IN_PART,
    UNDECLARED as UNDECLARED,
    Undeclared as Undeclared,
    as_read_of as as_read_of,
    changed as changed,
    in_declared_forms as in_declared_forms,
    only_declared as only_declared,
    undeclared_in as undeclared_in,
)
from singletable.values.unions import Tagged as Tagged, UnionPlan as UnionPlan
from singletable.values.untyped import (
    AttributeValue as AttributeValue,
    from_attribute_value as from_attribute_value,
    to_attribute_value as to_attribute_value,
)
from singletable.values.value_types import (
    DURATION as DURATION,
    EXPIRY as EXPIRY,
    FLAG as FLAG,
    INSTANT as INSTANT,
    INTEGER as INTEGER,
    TEXT as TEXT,
    VALUE_TYPES as VALUE_TYPES,
    ValueType as ValueType,
    value_type_of as value_type_of,
)
from singletable.values.verbatim import Verbatim as Verbatim

if TYPE_CHECKING:
    from singletable.values.plain_json import (
        exact_json as exact_json,
        json_of as json_of,
        keeps_digits as keeps_digits,
        plain_of as plain_of,
        value_of_json as value_of_json,
        value_of_plain as value_of_plain,
    )
    from singletable.values.stored_forms import STORED_FORMS as STORED_FORMS
    from singletable.values.words import (
        MOST_WORDS as MOST_WORDS,
        USUAL_WORDS as USUAL_WORDS,
        WordsText as WordsText,
        words_in as words_in,
    )

# For what people and agents read and write, and for foreign tables.
__getattr__ = late_names(
    __name__,
    plain_json="exact_json json_of keeps_digits plain_of value_of_json value_of_plain",
    stored_forms="STORED_FORMS",
    words="MOST_WORDS USUAL_WORDS WordsText words_in",
)
