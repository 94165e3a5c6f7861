"""Masks: values instead of personal ones, of the same type and, if possible, of the same shape.

    Mask(b"a secret").text("Ada Lovelace")     # "Qpd Xkwtezbn"
    Mask(b"a secret").text("+44 20 7946 0958") # "+71 03 5518 2240"

The same value always has the same mask under one key, wherever it stands, so that references still meet. Different
values have different masks: a short text is permuted among those of its shape; a long one has a keyed hash of 128 bits
or more. A value with few others of its shape, as a digit, can be guessed: a mask hides, it does not make anonymous.
"""

from __future__ import annotations

import dataclasses
import struct
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import cache
from hashlib import blake2b, shake_256
from math import isqrt, prod
from typing import Any, Final, NoReturn, cast
from unicodedata import is_normalized
from uuid import UUID

import msgspec

from singletable.errors import InvalidRequest
from singletable.values import (
    MAX_DIGITS,
    ConvertedPlan,
    FreePlan,
    ListPlan,
    MapPlan,
    NestedPlan,
    OptionalPlan,
    PerKind,
    Scalar,
    SetPlan,
    UnionPlan,
    ValuePlan,
    normalized,
    of_shape,
    value_type_of,
)

_MOST_PERMUTED: Final = 1 << 128
"""The number of texts of a shape from which two hashes don't meet."""
_MOST_STEPS: Final = 100
"""Permutations of one text until it is in normal form."""
_ROUNDS: Final = 8
_KEY_BYTES: Final = 16
_DIGITS: Final = "0123456789"
_LEADING: Final = "123456789"
_KEPT: Final = ("P", "Z", "C")
"""The general categories of characters that stay: punctuation, separators, controls."""
_NO_HOST: Final = ".invalid"
"""The domain of a masked address: nobody's, for ever (RFC 2606)."""
_CONTENT: Final = "$blob"
"""The only name in a reference to a document's contents, which stays: it is a hash."""
_UUID_FIXED: Final = (0xF << 76) | (0b11 << 62)
"""The bits of a UUID that say its version and variant."""


class Mask:
    """The masks of one key. InvalidRequest for a key of less than 16 bytes."""

    def __init__(self, key: bytes) -> None:
        if len(key) < _KEY_BYTES:
            raise InvalidRequest(
                f"the key of masks has {len(key)} bytes", hint=f"Give {_KEY_BYTES} or more, which nobody can guess."
            )
        self._key = blake2b(key, digest_size=32).digest()

    def __repr__(self) -> str:
        """Without the key: who has it can try values."""
        return "Mask()"

    def text(self, value: str) -> str:
        """Each letter becomes one of its kind, each digit a digit; the rest stays. An address ends with `.invalid`."""
        alphabets = [_alphabet(character) for character in value]
        masked = self._in_form(value, alphabets)
        name, at, host = value.partition("@")
        return masked + _NO_HOST if name and at and "." in host and "@" not in host else masked

    def whole(self, value: int) -> int:
        """A number with the same number of digits, with its sign; beyond the 38 that are stored they are zeros."""
        number = str(abs(value))
        digits = number[:MAX_DIGITS]
        places = [_LEADING] if value < 0 and len(digits) == 1 else _digits_of(digits, is_decimal=False)
        permuted = "".join(self._permuted(digits, places))
        masked = int(permuted.ljust(len(number), "0"))
        return -masked if value < 0 else masked

    def decimal(self, value: Decimal) -> Decimal:
        """A number with the same number of significant digits, with its sign and its exponent."""
        if not value.is_finite() or not value:
            return value
        sign, digits, exponent = normalized(value).as_tuple()
        said = "".join(map(str, digits))
        masked = "".join(self._permuted(said, _digits_of(said, is_decimal=True)))
        return Decimal(f"{'-' if sign else ''}{masked}E{exponent}")

    def day(self, value: date) -> date:
        """A day of the same year."""
        first = date(value.year, 1, 1)
        days = (date(value.year, 12, 31) - first).days + 1
        return first + timedelta(days=self._number(f"day {value.year}", (value - first).days, days))

    def instant(self, value: datetime) -> datetime:
        """A time of the same year, to the second; its fraction stays."""
        aware = value.astimezone(timezone.utc) if value.tzinfo is not None else value
        first = datetime(aware.year, 1, 1, tzinfo=aware.tzinfo)
        seconds = int((datetime(aware.year, 12, 31, 23, 59, 59, tzinfo=aware.tzinfo) - first).total_seconds()) + 1
        since = aware.replace(microsecond=0) - first
        moved = self._number(f"instant {aware.year}", int(since.total_seconds()), seconds)
        return first + timedelta(seconds=moved, microseconds=aware.microsecond)

    def uuid(self, value: UUID) -> UUID:
        """One of the same version."""
        random = int.from_bytes(self._hash("uuid", value.bytes, 16), "big")
        return UUID(int=(random & ~_UUID_FIXED) | (value.int & _UUID_FIXED))

    def formatted(self, value: str, shape: str, is_one: Callable[[str], bool]) -> str:
        """A text of the same shape for which `is_one` is true, as it is for the value."""
        alphabets = ["".join(sorted(step.chars)) for step in of_shape(shape)]
        count = prod(map(len, alphabets))
        while True:  # a permutation leads back to the value itself
            number = self._number(f"formatted {shape}", _number_of(value, alphabets), count)
            value = "".join(_text_of(number, alphabets))
            if is_one(value):
                return value

    def octets(self, value: bytes) -> bytes:
        """Mask bytes: the same number of them."""
        if len(value) >= _KEY_BYTES:
            return self._hash("bytes", value, len(value))
        size = 256 ** len(value)
        number = self._number(f"bytes {len(value)}", int.from_bytes(value, "big"), size)
        return number.to_bytes(len(value), "big")

    def choice(self, value: Any, choices: Sequence[Any]) -> Any:
        """Another of the values of an enum, a Literal or a bool; or the same, by chance."""
        name = "choice " + " ".join(str(getattr(each, "value", each)) for each in choices)
        return choices[self._number(name, list(choices).index(value), len(choices))]

    # --- permutations -------------------------------------------------------------------------------------------------
    def _in_form(self, value: str, alphabets: Sequence[str]) -> str:
        """The permutation of a text, in Unicode's normal form C if the text is: as an identifier has to be."""
        masked = "".join(self._permuted(value, alphabets))
        if is_normalized("NFC", masked) or not is_normalized("NFC", value):
            return masked
        steps = 0 if _count_of(alphabets) >= _MOST_PERMUTED else _MOST_STEPS
        for _ in range(steps):  # a permutation leads back to the text itself, which is in that form
            masked = "".join(self._permuted(masked, alphabets))
            if is_normalized("NFC", masked):
                return masked
        return unicodedata.normalize("NFC", masked)  # of a text with many marks, few others are: so many that none meet

    def _permuted(self, value: str, alphabets: Sequence[str]) -> list[str]:
        """Each character replaced by one of its alphabet, so that no two texts of the same alphabets meet."""
        count = _count_of(alphabets)
        if count >= _MOST_PERMUTED:  # each by four bytes: as one number, a long text would take minutes
            words = struct.unpack(f"<{len(value)}I", self._hash("text", value.encode(), 4 * len(value)))
            return [alphabet[word % len(alphabet)] for word, alphabet in zip(words, alphabets, strict=True)]
        shape = "\0".join(alphabets).encode("utf-8", "surrogatepass")
        domain = f"text {self._hash('shape', shape, _KEY_BYTES).hex()}"
        return _text_of(self._number(domain, _number_of(value, alphabets), count), alphabets)

    def _number(self, domain: str, number: int, count: int) -> int:
        """A keyed permutation of the numbers below `count`: a Feistel network over two parts of about its root's size,
        walked until it is below."""
        if count <= 1:
            return number
        left_size = isqrt(count - 1) + 1
        right_size = -(-count // left_size)
        while True:
            number = self._rounds(domain, number, left_size, right_size)
            if number < count:
                return number

    def _rounds(self, domain: str, number: int, left_size: int, right_size: int) -> int:
        left, right = divmod(number, right_size)
        for turn in range(_ROUNDS):
            if turn % 2:
                right = (right + self._spread(domain, turn, left, right_size)) % right_size
            else:
                left = (left + self._spread(domain, turn, right, left_size)) % left_size
        return left * right_size + right

    def _spread(self, domain: str, turn: int, half: int, size: int) -> int:
        said = f"{turn} {half}".encode()
        return int.from_bytes(self._hash(domain, said, size.bit_length() // 8 + 9), "big") % size

    def _hash(self, domain: str, value: bytes, length: int) -> bytes:
        name = domain.encode("utf-8", "surrogatepass")
        return shake_256(b"%s%d %s%s" % (self._key, len(name), name, value)).digest(length)


def masked(mask: Mask, plan: ValuePlan, value: Any) -> Any:
    """A value of a declared type, with masks for all that it holds. None stays None."""
    if value is None:
        return None
    if isinstance(plan, Scalar):
        if isinstance(value, Enum):
            return mask.choice(value, list(type(value)))
        if plan.stored is not None:
            return _masked_as_stored(mask, plan, plan.stored, value)
        return mask.choice(value, plan.choices) if plan.choices else _MASKS.of(plan.kind)(mask, plan, value)
    if isinstance(plan, ConvertedPlan):
        with suppress(ValueError, LookupError, TypeError, ArithmeticError):
            return plan.convert(masked(mask, plan.inner, plan.dump(value)))
        raise _no_mask(value)
    if isinstance(plan, OptionalPlan):
        return masked(mask, plan.inner, value)
    if isinstance(plan, (ListPlan, SetPlan)):
        return plan.kind(masked(mask, plan.element, each) for each in value)
    if isinstance(plan, MapPlan) and not isinstance(plan.element, FreePlan):
        return {mask.text(name): masked(mask, plan.element, each) for name, each in value.items()}
    if isinstance(plan, (NestedPlan, UnionPlan)):
        codec = plan.codec if isinstance(plan, NestedPlan) else plan.codec_of(value)
        parts = codec.by_name.values()
        return dataclasses.replace(
            value, **{each.name: masked(mask, each.plan, getattr(value, each.name)) for each in parts}
        )
    return _free(mask, value)


def _free(mask: Mask, value: Any) -> Any:
    """The mask of a value of free form: the names of its parts stay, as programs look for them."""
    if isinstance(value, dict):
        if list(cast("dict[str, Any]", value)) == [_CONTENT]:
            return value
        return {name: _free(mask, each) for name, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, (list, set, frozenset, tuple)):
        several = cast("Any", value)
        return several.__class__(_free(mask, each) for each in several)
    return None if value is None else _scalar(mask, value)


def _scalar(mask: Mask, value: Any) -> Any:
    value_type = value_type_of(type(value))
    if value_type is None:
        raise _no_mask(value)
    return _MASKS.of(value_type.kind)(mask, value_type.plan, value)


def _text(mask: Mask, plan: Scalar, value: str) -> str:
    in_json = _masked_json(mask, value) if value[:1] in ("{", "[") else None
    return mask.text(value) if in_json is None else in_json


def _formatted(mask: Mask, plan: Scalar, value: Any) -> Any:
    def is_one(text: str) -> bool:
        try:
            return bool(plan.check(plan.parse(text)) == text)
        except ValueError:
            return False

    return plan.parse(mask.formatted(plan.check(value), plan.shape, is_one))


def _refused(mask: Mask, plan: Scalar, value: Any) -> NoReturn:
    raise _no_mask(value)


def _masked_as_stored(mask: Mask, plan: Scalar, stored: Scalar, value: Any) -> Any:
    """A mask of the stored value which is a value of the type; masks of masks are tried until one is."""
    text = plan.check(value)
    for _ in range(_MOST_STEPS):
        text = stored.check(masked(mask, stored, stored.parse(text)))
        with suppress(ValueError, LookupError, TypeError, ArithmeticError):
            return plan.parse(text)
    raise _no_mask(value)


def _no_mask(value: Any) -> InvalidRequest:
    return InvalidRequest(f"a {type(value).__name__} has no mask", hint="Give keep_personal=True, or leave it out.")


def _masked_json(mask: Mask, text: str) -> str | None:
    """The object or list in a JSON text, with masks; None for other texts, and for ones that are nested too deep, or
    hold too long a number, for Python."""
    try:
        return msgspec.json.encode(_free(mask, msgspec.json.decode(text))).decode()
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


_MASKS: Final[PerKind[Callable[[Mask, Scalar, Any], Any]]] = PerKind(
    text=_text,
    flag=lambda mask, plan, value: mask.choice(value, (False, True)),
    integer=lambda mask, plan, value: mask.whole(value),
    decimal=lambda mask, plan, value: mask.decimal(value),
    float=lambda mask, plan, value: float(mask.decimal(Decimal(repr(value)))),
    bytes=lambda mask, plan, value: mask.octets(value),
    instant=lambda mask, plan, value: mask.instant(value),
    day=lambda mask, plan, value: mask.day(value),
    uuid=lambda mask, plan, value: mask.uuid(value),
    formatted=_formatted,
    reference=_refused,
)


def _digits_of(digits: str, *, is_decimal: bool) -> list[str]:
    """The digits that may stand at each place: the first of several is not 0, nor is the last of a decimal."""
    places = [_DIGITS] * len(digits)
    if len(digits) > 1 or is_decimal:
        places[0] = _LEADING
    if is_decimal:
        places[-1] = _LEADING
    return places


def _count_of(alphabets: Sequence[str]) -> int:
    """The number of texts of these alphabets, up to a limit above which it doesn't matter."""
    count = 1
    for alphabet in alphabets:
        count *= len(alphabet)
        if count >= _MOST_PERMUTED:
            break
    return count


def _number_of(value: str, alphabets: Sequence[str]) -> int:
    number = 0
    for character, alphabet in zip(value, alphabets, strict=True):
        number = number * len(alphabet) + alphabet.index(character)
    return number


def _text_of(number: int, alphabets: Sequence[str]) -> list[str]:
    letters: list[str] = []
    for alphabet in reversed(alphabets):
        number, at = divmod(number, len(alphabet))
        letters.append(alphabet[at])
    return letters[::-1]


@cache
def _alphabet(character: str) -> str:
    """The characters that one may become: others of its kind that take the same bytes."""
    if character.isascii():
        for first, last in (("a", "z"), ("A", "Z"), ("0", "9")):
            if first <= character <= last:
                return "".join(map(chr, range(ord(first), ord(last) + 1)))
        return character
    category = unicodedata.category(character)
    if category.startswith(_KEPT):
        return character
    block = max(ord(character) & ~0xFF, 0x80)
    return _of_category(block, (block | 0xFF) + 1, category, is_normalized("NFC", character))


@cache
def _of_category(first: int, end: int, category: str, is_normal: bool) -> str:
    """Apart: what the normal form C has, and what it writes in another way."""
    of_category = (each for each in map(chr, range(first, end)) if unicodedata.category(each) == category)
    return "".join(each for each in of_category if is_normalized("NFC", each) == is_normal)
