"""Folded texts: what begins a text begins it folded, in every Python alike."""

from __future__ import annotations

import hashlib
import unicodedata
from random import Random

import pytest

from singletable import ANY, Entity, InvalidValue, Key, Table, starting_with
from singletable.errors import DeclarationError
from singletable.values.key_forms.folded import LONGEST, FoldedText, fold

CORNERS = [
    *("aA", "éÉe\u0301", "\u0323\u0307\u0301\u0327", "ßẞſ", "İıiI", "Å\u212bA\u030a", "ﬁﬀﬃ", "øØłŁđæÆœðþ"),
    *("한국가각\u1100\u1161\u11a8", "ガか\u3099ｶﾞ", "שָׁלוֹם\u200f", "كِتَاب\u0640ﷺ", "ไทยกำ", "हिन्दी", "Ως Σσ", "ђҐ"),
    *("😀👍🏽👩\u200d💻❤\ufe0f🇫🇷", "１２３①²½٣", " \t\n\u00a0\u3000\u2003", "#%/-_$!\"'`´", "\0\x1f\x7f\u0085"),
    *("\u00ad\u200b\ufeff", "Ⅷ㎏㍿", "𝔄𝒷", "\U0001e900\ua7cb\u1c90", "\U0010fffd\ue000\u0378"),
]
TELL = [
    ("Ada  Lovelace ", "ada lovelace"),
    ("ÁDÁM", "adam"),
    ("STRAẞE", "strasse"),
    ("İstanbul", "istanbul"),
    ("Işık", "isik"),
    ("Åse Ærø", "ase aero"),
    ("Łódź, Đà Nẵng", "lodz, da nang"),
    ("ﬁne ＡＢＣ ①", "fine abc 1"),
    ("Ο ΟΔΥΣΣΕΥΣ", "ο οδυσσευσ"),
    ("가", "\u1100\u1161"),
    ("❤\ufe0f👩\u200d💻", "❤👩💻"),
    ("co\u00adop\u200b", "coop"),
    ("\u0301\ufeff \t", ""),
    ("שָׁלוֹם", "שלום"),
]


@pytest.mark.parametrize(("text", "folded"), TELL)
def test_what_two_people_type_for_one_name_is_one_text(text: str, folded: str) -> None:
    assert fold(text) == folded
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert fold(unicodedata.normalize(form, text)) == folded
    assert fold(folded) == folded


def test_the_rule_is_the_same_in_every_python() -> None:
    """The digest of every character that may fold: another one is another rule, and raises `FoldedText.rule`."""
    rule = hashlib.sha256()
    for code in (*range(0xD800), *range(0xE000, 0x20000), *range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200)):
        if (folded := fold(chr(code))) != chr(code):
            rule.update(f"{code} {folded}\n".encode())
    assert rule.hexdigest() == "41a34d9d243fdc1f2057ec65c906831dcbfe1dc33b801ea13949c31a03530c79"


def test_a_character_and_its_parts_fold_alike() -> None:
    """Of all that is in Unicode 14; what came later stands as it is, in both forms."""
    for code in range(0x110000):
        character = chr(code)
        parts = unicodedata.normalize("NFD", character)
        if parts != character and fold(parts) != fold(character):
            assert unicodedata.unidata_version != "14.0.0"
            assert fold(character) == character


@pytest.mark.parametrize("draws", [3_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_what_begins_a_text_begins_it_folded(draws: int) -> None:
    random = Random(draws)
    for _ in range(draws):
        text = "".join(random.choice(random.choice(CORNERS)) for _ in range(random.randint(0, 12)))
        begins = text[: random.randint(0, len(text))]
        assert fold(text).startswith(fold(begins)), (text, begins)
        assert fold(unicodedata.normalize("NFD", text)) == fold(text), text


def declared(separator: str = "#") -> type[Entity]:
    table = Table("people", indexes=["gsi1"], separator=separator)

    class Person(Entity, table=table, type="person"):
        number: int
        name: str

        @table.key
        @staticmethod
        def by_number(number: int) -> Key:
            return f"person{separator}{number}", "person"

        @table.index("gsi1")
        @staticmethod
        def by_name(name: str = ANY, number: int = ANY) -> Key:
            return "people", f"{name:folded}{separator}{number}"

    return Person


@pytest.mark.parametrize("separator", ["#", "/", "-", "::"])
def test_no_text_is_too_long_and_none_ends_its_part(separator: str) -> None:
    person: type[Entity] = declared(separator)
    by_name = person.by_name  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    random = Random(7)
    for _ in range(300):
        text = "".join(random.choice(random.choice(CORNERS)) for _ in range(random.choice((0, 3, 400))))
        key = by_name(text, 7)
        assert len(key.low.encode()) <= 1024
        asked = by_name(starting_with(text[: random.randint(0, len(text))]))
        assert asked.low <= key.low <= asked.high
    assert len(by_name("x" * 4000, 7).low) == LONGEST + len(separator) + 2


@pytest.mark.parametrize("text", ["\ud800", "a\U0010ffff", None, 7])
def test_what_no_key_can_hold_is_refused_by_name(text: object) -> None:
    with pytest.raises(InvalidValue) as refused:
        declared().by_name(text, 7)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    assert refused.value.attribute == "Person.name"


def test_another_rule_is_another_form_in_the_record() -> None:
    assert (FoldedText(str).form, FoldedText(str, 2).form) == ("folded 1", "folded 2")


def test_a_primary_key_is_not_folded_as_two_names_would_be_one_item() -> None:
    table = Table("people")
    with pytest.raises(DeclarationError, match="'Ada' and 'ADÁ' give one text"):

        class Person(Entity, table=table, type="person"):
            name: str

            @table.key
            @staticmethod
            def by_name(name: str) -> Key:
                return f"person#{name:folded}", "person"
