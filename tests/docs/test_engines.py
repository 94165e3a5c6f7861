"""The page of the engines is what the lists of expected differences say."""

from __future__ import annotations

import pytest

from tests.docs.pages import ROOT
from tests.engines import page
from tests.engines.__main__ import ENGINES, LAYERS, layers_of
from tests.engines.differences import names, read_differences


def test_the_page_of_the_engines_is_made_from_the_lists() -> None:
    assert page.PAGE.read_text() == page.page(), "write it anew: python -m tests.engines.page"


@pytest.mark.parametrize("name", names())
def test_a_list_names_files_that_are_there_and_nothing_twice(name: str) -> None:
    listed = [test for difference in read_differences(name).all for test in difference.tests]
    assert len(set(listed)) == len(listed)
    assert [test for test in listed if not (ROOT / test.partition("::")[0]).is_file()] == []


@pytest.mark.parametrize("name", names())
def test_a_layer_that_is_left_out_is_one_and_has_a_reason(name: str) -> None:
    left_out = read_differences(name).left_out
    layers = [layer for each in left_out for layer in each.layers]
    assert len(set(layers)) == len(layers)
    assert [path for path in layers if _layer(path) not in LAYERS or not (ROOT / path).exists()] == []
    assert all(each.why for each in left_out)
    tests = [test for difference in read_differences(name).all for test in difference.tests]
    assert [test for test in tests if {_layer(test), test.partition("::")[0]} & set(layers)] == []


def test_every_layer_runs_on_an_engine_other_than_the_embedded_one() -> None:
    assert layers_of("ministack") == list(LAYERS)
    assert set(ENGINES) == set(names())


def _layer(test: str) -> str:
    return "/".join(test.split("/")[:2])
