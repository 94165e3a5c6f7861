"""Masks: one for each value, of its form, in the normal form that an identifier has to have."""

from __future__ import annotations

from unicodedata import is_normalized, normalize

import pytest
from hypothesis import given, strategies as st

from singletable.exchange.masks import Mask, masked
from singletable.values.value_types import TEXT

KEY = b"sixteen bytes at least"
SCRIPTS = "कखनरळपडब\u093c\u093eািকড\u09bc\u09be\u0b95\u0bbeשּׁבגאבἀάΑΆÅÅ각가한글ệạ\u0301\u0323xyz"
"""Letters whose block has some that the normal form writes in another way, or that join with what follows."""
texts = st.text(SCRIPTS, max_size=12) | st.text(SCRIPTS, min_size=30, max_size=60) | st.text(max_size=8)


@given(texts)
def test_a_mask_is_in_normal_form_where_its_text_is(value: str) -> None:
    mask = Mask(KEY)
    assert is_normalized("NFC", mask.text(normalize("NFC", value)))
    assert mask.text(value) == mask.text(value)


def test_a_text_of_many_marks_takes_no_time() -> None:
    """Few of its shape are in normal form: to look for one by chance would take seconds."""
    hashed: list[int] = []

    class Counting(Mask):
        def _hash(self, domain: str, value: bytes, length: int) -> bytes:
            hashed.append(1)
            return super()._hash(domain, value, length)

    for value in ("q" + "\u0323" * 9 + "\u0301" * 8, "क" + "\u0323" * 9 + "\u0301" * 8):
        assert is_normalized("NFC", value)
        assert is_normalized("NFC", Counting(KEY).text(value))
    assert len(hashed) < 5_000


def test_the_longest_text_of_an_item_takes_no_time() -> None:
    """As many steps as letters: as one number it would take minutes."""
    text = "Ada Löwe 1 " * 36_000
    said = Mask(KEY).text(text)
    assert [each.isspace() for each in said] == [each.isspace() for each in text]
    assert len(said.encode()) == len(text.encode())
    assert said != Mask(KEY).text(text[:-2] + "2 ")


@pytest.mark.parametrize("shape", ["क", "क\u093c", "x\u0301", "ἀ1", "नक", "בּ"])
def test_different_texts_have_different_masks(shape: str) -> None:
    """All texts that differ from one in a letter, and are in normal form, as it is."""
    mask = Mask(KEY)
    block = ord(normalize("NFC", shape)[0]) & ~0xFF
    said = {normalize("NFC", chr(code) + shape[1:]) for code in range(max(block, 0x80), block + 0x100)}
    assert len({mask.text(each) for each in said}) == len(said)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 5_000, "[" * 700 + "]" * 700, f"[1{'0' * 5_000}]", "[1e999]"]
)
def test_a_text_that_is_no_json_for_python_is_masked_as_text(text: str) -> None:
    """A personal text is anybody's: it can't end an export."""
    assert isinstance(masked(Mask(KEY), TEXT, text + "x"), str)
    assert isinstance(masked(Mask(KEY), TEXT, text), str)
