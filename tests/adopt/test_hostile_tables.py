"""Tables whose names and texts mean something in Python, end a line, or look like what they are not."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Index
from singletable.adopt import Adopted, TableLayout, adopted
from singletable.adopt.module_text import ModuleText
from singletable.adopt.samples import SampleChooser
from singletable.adopt.specs import KindSpec
from tests.adopt.tables import SHOP, stored

ROUND = (7, 12, 130, 45, 9)


def of(items: list[dict[str, Any]], layout: TableLayout = SHOP) -> Adopted:
    return adopted([stored(**item) for item in items], layout)


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028", "\x85"])
def test_no_text_of_an_item_is_code_of_the_module(end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Doubts are comments with names and literals in them: a line that ends there would go on as code."""
    code = f"A{end}    print('run')\n    #"
    literals = [
        {"PK": f"{code}#{n}_{n * 3}", "SK": f"B#{n}", "aa": n, "bb": f"{n}_{n * 3}", "cc": n * 3} for n in ROUND
    ]
    names = [{"PK": f"A#{n}", "SK": f"B#{n}", f"x{end}    print('run')\n    ": n, "z": n} for n in ROUND]
    for items in (literals, names):
        outcome = of([*items, *({"PK": f"OTHER#{n}", "SK": "X", "n": n} for n in ROUND)])
        assert all(line.isprintable() for line in outcome.source.split("\n"))
        assert outcome.explained["x"] == 5
    assert capsys.readouterr().out == ""


def test_a_table_s_name_ends_no_docstring(capsys: pytest.CaptureFixture[str]) -> None:
    """A model's file names the table: it is a text of others."""
    with pytest.raises(ValueError, match="not a valid table name"):
        of([{"PK": f"A#{n}", "SK": "X"} for n in ROUND], TableLayout('"""\nprint("run")\n"""', ("PK", "SK")))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["int", "set", "list", "staticmethod", "field", "shop", "by_gsi1", "Annotated"])
def test_names_that_the_module_uses_stay_free(name: str) -> None:
    """Of an attribute, of the table, and of a kind; by_gsi1 is the key function of an index."""
    some = {name: {"q": 1}, "number": 4, "tags": {"a"}, "numbers": {1}}
    items = [
        {"PK": f"A#{n}", "SK": "X", "n": n, **(some if n > 9 else {}), "GSI1PK": f"N#{n}", "GSI1SK": "-"} for n in ROUND
    ]
    assert of(items).explained == {"x": 5}
    assert of(items, TableLayout(name, ("PK", "SK"), SHOP.indexes)).explained == {"x": 5}
    outcome = of([{**item, "_type": name} for item in items])
    assert outcome.explained == {name: 5}


def test_indexes_of_like_names_have_functions_of_their_own() -> None:
    layout = TableLayout("shop", ("PK", "SK"), {"by-day": Index("a"), "byDay": Index("b")})
    source = of([{"PK": f"A#{n}", "SK": "X", "n": n, "a": f"A#{n}", "b": f"B#{n}"} for n in ROUND], layout).source
    assert "def by_by_day(n: int)" in source
    assert "def by_by_day_(n: int)" in source


@pytest.mark.parametrize("type_name", ["True", "x²", "None", "ﬁ", "Straße", "a b#c", "名前", "1", "\u202e"])
def test_a_type_is_a_class_whatever_its_characters(type_name: str) -> None:
    items = [{"PK": f"A#{n}", "SK": "X", "_type": type_name, "n": n} for n in ROUND]
    outcome = of(items)
    assert outcome.explained == {type_name: 5}
    assert outcome.kinds[0].title.isidentifier()


@pytest.mark.parametrize(
    "values",
    [
        ["2023-13-40", "2023-02-30", "0000-00-00", "9999-99-99", "2023-12-12"],
        ["2023-13-45T99:99:99.001Z", "2023-13-45T99:99:99.002Z", "x", "y", "z"],
        ["٢٠٢٣-١٢-١٢", "٢٠٢٣-١٢-١٣", "a", "b", "c"],
        [10**121, 10**122, -(10**123), 10**30, 10**27],
    ],
)
def test_values_that_only_look_like_times_or_have_many_digits_are_read(values: list[Any]) -> None:
    items = [{"PK": f"A#{n}", "SK": "X", "d": value} for n, value in zip(ROUND, values, strict=True)]
    assert of(items).explained == {"x": 5}


def test_words_of_every_script_are_values_of_keys() -> None:
    items = [{"PK": f"CITY#Köln{n}", "SK": f"é{n}#x", "d": n * 3} for n in ROUND]
    assert sum(of(items).explained.values()) == 5


def test_an_attribute_that_no_class_can_have_is_left_and_told() -> None:
    outcome = of([{"PK": f"A#{n}", "SK": "X", 'a"b': n, "n": n} for n in ROUND])
    assert outcome.explained == {"x": 5}
    assert outcome.kinds[0].left == ("the attribute 'a\"b': a class can't have one of this name",)


def test_an_index_key_of_an_attribute_without_a_type_is_left_and_told() -> None:
    """`u` makes the key where it is a text; elsewhere it is a NULL, or missing."""
    items: list[dict[str, Any]] = [
        {"PK": f"A#{n}", "SK": "X", "u": f"u{n}", "GSI1PK": f"U#u{n}", "GSI1SK": "-"} for n in ROUND
    ]
    outcome = of([*items, {"PK": "A#1", "SK": "X", "u": None}, {"PK": "A#2", "SK": "X"}])
    assert outcome.explained == {"x": 7}
    assert "the key of GSI1: an attribute in it has values of several types" in outcome.kinds[0].left


def test_a_kind_more_costs_one_class_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind is tried with those before it: making them all again would take minutes for 200 kinds."""
    written: list[str] = []
    kind = ModuleText.kind

    def counted(text: ModuleText, spec: KindSpec) -> str:
        written.append(spec.title)
        return kind(text, spec)

    monkeypatch.setattr(ModuleText, "kind", counted)
    words = [f"{a}{b}" for a in "abcde" for b in "vwxyz"]
    outcome = of([{"PK": f"{word}#{n}", "SK": "X", f"of_{word}": n} for word in words for n in ROUND])
    assert sum(outcome.explained.values()) == len(words) * len(ROUND)
    assert len(written) < 4 * len(words)


def test_large_items_are_chosen_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 items of 400 KB of each of many kinds would take gigabytes."""
    monkeypatch.setattr("singletable.adopt.samples._MOST_BYTES", 100_000)
    chooser = SampleChooser(SHOP)
    for word in ("a", "b"):
        chooser.take(stored(PK=f"{word}#{n}", SK="X", body="x" * 10_000) for n in range(100))
    kept = [str(item["PK"]["S"])[0] for item in chooser.sample().items]
    assert (kept.count("a"), kept.count("b"), chooser.read) == (10, 3, 200)
