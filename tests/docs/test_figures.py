"""Figures of pages are those of the results that are kept beside the benchmarks."""

from __future__ import annotations

import re

import pytest

from benchmarks import pages


@pytest.mark.parametrize("name", pages.PAGES)
def test_a_page_has_the_figures_of_the_results(name: str) -> None:
    page = (pages.ROOT / name).read_text()
    assert pages.page_with_figures(page) == page, "python -m benchmarks.pages --write"


def test_the_picture_is_drawn_of_the_results() -> None:
    """It shows the least first."""
    assert (pages.ROOT / pages.PICTURE).read_text() == pages.drawing(), "python -m benchmarks.pages --write"


def test_every_figure_has_a_place_in_a_page() -> None:
    texts = ((pages.ROOT / name).read_text() for name in pages.PAGES)
    places = [place for text in texts for place in re.findall(r"<!-- measured: (.*?) -->", text)]
    assert sorted(places) == sorted(pages.FIGURES)


def test_old_figures_are_replaced_and_the_rest_of_a_page_stays() -> None:
    page = "before\n<!-- measured: network -->\n\nold 9.99 ms\n\n<!-- end -->\nafter\n"
    made = pages.page_with_figures(page)
    assert made.startswith("before\n<!-- measured: network -->\n\n")
    assert made.endswith("\n\n<!-- end -->\nafter\n")
    assert "old" not in made
    assert pages.network() in made
    assert pages.page_with_figures(made) == made
