"""What a program prints names the cause, in each situation; and the page is made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from singletable import Database
from tests.situations.page import EVERY, PAGE, page, section, seen_in
from tests.situations.situation import Situation
from tests.support.engines import fresh

_WRITE = "run: python -m tests.situations.page"
pytestmark = pytest.mark.embedded("what it prints is of one engine")


@pytest.fixture
def engine() -> Iterator[Database]:
    with fresh() as db:
        yield db


@pytest.mark.parametrize("situation", EVERY, ids=lambda each: each.title)
def test_the_output_names_the_cause(situation: Situation, engine: Database) -> None:
    program = seen_in(situation, engine)
    output = "\n".join(program.lines)
    missing = [part for part in situation.shows if part not in output]
    assert missing == [], output
    records = {f"{record.levelname} {vars(record).get('singletable_event')}" for record in program.records}
    assert set(situation.records) <= records
    assert section(situation, program.lines) in PAGE.read_text(encoding="utf-8"), _WRITE


def test_the_page_has_every_situation_once() -> None:
    text = PAGE.read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert titles == [situation.title for situation in EVERY]
    sections = [part.rstrip("\n") + "\n" for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]]
    assert text == page(sections), _WRITE
    assert len(titles) >= 20
