"""The law of values at the studio's form, in a real browser: what one item's form shows, another's form stores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given

from singletable import Database, connect
from tests.browser.studio.opened import Page, opened, press, studio_of
from tests.doors.law import is_same
from tests.doors.things import FORMED, NAMES, Drawn, few, fifty, forms, stored, type_of

_UNTYPABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
"""A text with such a character is edited as JSON; nobody types it into the field of a text."""
_READ = """
() => Object.fromEntries([...document.querySelectorAll("#edit [name^='value.'], #edit [name^='none.']")].map(
  ({ name, type, value, checked }) => [name, type === "checkbox" ? checked : value]))
"""
_FILL = """
(texts) => {
  for (const field of document.querySelectorAll("#edit [name^='value.'], #edit [name^='none.']")) {
    if (field.type === "checkbox") field.checked = texts[field.name];
    else field.value = texts[field.name];
  }
}
"""


class Served(NamedTuple):
    page: Page
    db: Database


@pytest.fixture(scope="module")
def served(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    target = f"local:{tmp_path_factory.mktemp('studio')}/things.db"
    with connect(target) as db:
        db.create_table(forms)
        with studio_of("tests.doors.things", target, "--write") as address, opened(browser, address) as page:
            yield Served(page, db)


@few
@given(drawn=fifty)
def test_what_a_form_shows_another_stores(served: Served, drawn: Drawn) -> None:
    page, db = served
    kept = {at: getattr(thing, at) for thing in stored(drawn).values() for at, _ in [drawn[int(thing.id)]]}
    kept = {at: value for at, value in kept.items() if not (isinstance(value, str) and _UNTYPABLE.search(value))}
    for kind in FORMED:
        values = {name: value for name, value in kept.items() if hasattr(kind, name)}
        db.put(kind(id="shown", **values))
        db.put(kind(id="typed"))
        page.goto(form_of(kind, "shown"))
        texts = page.evaluate(_READ)
        page.goto(form_of(kind, "typed"))
        page.evaluate(_FILL, texts)
        press(page, "Show what changes")
        assert page.locator("[aria-invalid]").evaluate_all("all => all.map(({ name, value }) => [name, value])") == []
        press(page, "Write")
        assert "Done." in page.locator("main").inner_text()
        typed = db.get(kind.of("typed"))
        for name, value in values.items():
            read = getattr(typed, name)
            assert is_same(read, value, type_of(name)), (NAMES[name], value, read)


def form_of(kind: Any, id: str) -> str:
    return f"/item/forms/edit?pk={kind.__name__.lower()}&sk={id}"
