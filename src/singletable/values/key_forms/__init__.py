"""Key forms: how a value is written in a key where its type's own text is not wanted, as `{n:raw}` and `{t:%Y-%m-%d}`.

Other programs write keys in forms of their own, and an index may need less than a whole value: a day of a time. A form
is a `KeyForm` in `FORMS` of `every_form`, with the key types that it makes: a file here, and a line there.

    raw         as other programs write it: a text as it is, an int as its digits
    lower, upper    a text in one case
    folded      a text without case and accents, to be found by its beginning
    s, ms       a time as its seconds or milliseconds since 1970
    %Y-%m-%d    the parts of a time or a date, largest first
    ulid, ksuid an identifier that sorts by time
    shard(8)    the number of the shard that a value is in

`{n:06}` and `{id:rest}` are forms of an int and of a str in `values.key_types`.
"""

from __future__ import annotations

from singletable.values.key_types import KeyType


def in_form(key_type: KeyType, format: str) -> KeyType | None:
    """The key type in the form that a format asks for; None if it has no such form. DeclarationError for a format that
    is nearly one, and says what to write."""
    own = key_type.in_form(format)
    if own is not None or not format:
        return own
    from singletable.values.key_forms.every_form import FORMS  # noqa: PLC0415 for such a format only

    key_types = (form.make(key_type, format) for form in FORMS if key_type.type in form.types)
    return next(filter(None, key_types), None)


def formats_of(key_type: KeyType) -> tuple[str, ...]:
    """The formats that a type may have in a key, by an example each."""
    from singletable.values.key_forms.every_form import FORMS  # noqa: PLC0415 for messages only

    return (*key_type.formats, *(form.example for form in FORMS if key_type.type in form.types))
