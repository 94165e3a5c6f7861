"""The page of the engines is what the lists of expected differences say."""

from __future__ import annotations

import pytest

from tests.docs.pages import ROOT
from tests.engines import page
from tests.engines.differences import names, read_differences


def test_the_page_of_the_engines_is_made_from_the_lists() -> None:
    assert page.PAGE.read_text() == page.page(), "write it anew: python -m tests.engines.page"


@pytest.mark.parametrize("name", names())
def test_a_list_names_files_that_are_there_and_nothing_twice(name: str) -> None:
    listed = [test for difference in read_differences(name).all for test in difference.tests]
    assert len(set(listed)) == len(listed)
    assert [test for test in listed if not (ROOT / test.partition("::")[0]).is_file()] == []
