"""A group of entry points: the library's own and those of other distributions, their order, and what is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from singletable.errors import NotConfigured
from singletable.extensions import ExtensionGroup
from tests.support.distributions import distribution

GROUP = ExtensionGroup("singletable.tried", Fraction, {"half": "own_values:HALF", "third": "own_values:THIRD"})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules: `own_values` is the library's, as the group has it."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_values.py").write_text(
        "from fractions import Fraction\nHALF = Fraction(1, 2)\nTHIRD = Fraction(1, 3)"
    )
    yield tmp_path
    for name in ("own_values", "fifths"):
        sys.modules.pop(name, None)


def installed(folder: Path, name: str, **entries: str) -> None:
    """A distribution of version 1.2 with entries in the group, and its module `NAME`."""
    (folder / f"{name}.py").write_text(
        "from fractions import Fraction\nFIFTH = Fraction(1, 5)\nTENTH = Fraction(1, 10)\nTEXT = 'a fifth'\n"
    )
    distribution(folder, name, "1.2", {GROUP.name: entries})


def test_the_others_come_after_the_own(folder: Path) -> None:
    installed(folder, "fifths", tenth="fifths:TENTH", fifth="fifths:FIFTH")
    assert GROUP.all() == [Fraction(1, 2), Fraction(1, 3), Fraction(1, 5), Fraction(1, 10)]


def test_a_distribution_that_is_gone_leaves_nothing(folder: Path) -> None:
    assert (list(GROUP.entries()), GROUP.entry("fifth")) == (["half", "third"], None)


def test_a_list_of_entries_imports_none(folder: Path) -> None:
    installed(folder, "fifths", fifth="nowhere:FIFTH", sixth="fifths:MISSING")
    assert sorted(GROUP.entries()) == ["fifth", "half", "sixth", "third"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("nowhere:FIFTH", "can't be loaded: ModuleNotFoundError: No module named 'nowhere'"),
        ("fifths:SIXTH", "can't be loaded: AttributeError: module 'fifths' has no attribute 'SIXTH'"),
        ("fifths:TEXT", "is a str, not a fractions.Fraction"),
    ],
)
def test_a_broken_entry_names_its_distribution(folder: Path, value: str, problem: str) -> None:
    installed(folder, "fifths", fifth=value)
    entry = GROUP.entry("fifth")
    assert entry is not None
    with pytest.raises(NotConfigured) as refused:
        GROUP.load(entry)
    said = f"the entry point fifth = '{value}' of fifths 1.2 (singletable.tried) {problem}"
    assert refused.value.what == said
    assert "python -m pip uninstall fifths" in refused.value.hint


def test_a_broken_entry_leaves_the_others_alone(folder: Path) -> None:
    installed(folder, "fifths", fifth="nowhere:FIFTH")
    entry = GROUP.entry("half")
    assert entry is not None
    assert GROUP.load(entry) == Fraction(1, 2)


def test_a_defect_of_the_library_is_shown_as_it_is(folder: Path) -> None:
    (folder / "own_defect.py").write_text("1 / 0")
    entry = ExtensionGroup("singletable.tried", Fraction, {"half": "own_defect:HALF"}).entry("half")
    assert entry is not None
    with pytest.raises(ZeroDivisionError):
        GROUP.load(entry)


def test_two_of_one_name_are_refused(folder: Path) -> None:
    installed(folder, "fifths", half="fifths:FIFTH")
    with pytest.raises(NotConfigured) as refused:
        GROUP.entries()
    assert refused.value.what == (
        "the entry point half = 'fifths:FIFTH' of fifths 1.2 (singletable.tried) has the name of "
        "the entry point half = 'own_values:HALF' of singletable (singletable.tried)"
    )
    assert "Uninstall fifths" in refused.value.hint


def test_the_own_entry_is_found_where_another_took_its_name(folder: Path) -> None:
    installed(folder, "fifths", half="fifths:FIFTH")
    entry = GROUP.entry("half")
    assert entry is not None
    assert entry.distribution == ""
