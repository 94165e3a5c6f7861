"""Model, its classes, SQL, and the pages without a server, in a real browser: by keys, at each width, for everybody."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from examples.organisations.model import organisations
from examples.organisations.walkthrough import walkthrough
from singletable import connect
from singletable.exchange import Exports
from singletable.studio.model import model_view, write_site
from tests.support.commandline import ROOT

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
MODULE = "examples.organisations.model"
WIDTHS = (390, 820, 1440)
QUESTION = """-- Members of each organisation
SELECT organisation_id, count(*) AS members FROM organisation_member GROUP BY ALL ORDER BY ALL"""


@dataclass(frozen=True)
class Served:
    address: str

    @property
    def url(self) -> str:
        return self.address.partition("/?")[0]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The program on a data file, with an export."""
    folder = tmp_path_factory.mktemp("studio")
    target = f"local:{folder}/organisations.db"
    with connect(target) as db:
        db.create_table(organisations)
        for _ in walkthrough(db):
            continue
        Exports(db, organisations).export(folder / "exports")
    command = [sys.executable, "-m", "singletable.cli", "studio", MODULE, "--db", target]
    command += ["--from", str(folder / "exports")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Served(process.stdout.readline().strip())
        process.terminate()


def noting(found: list[str], name: str) -> Callable[[Any], None]:
    """What keeps an attribute of each event."""

    def note(event: Any) -> None:
        found.append(getattr(event, name))

    return note


@contextmanager
def visiting(browser: Any, served: Served, **options: Any) -> Generator[Any]:
    """A page of a visitor who has entered; what its console says is an error."""
    context = browser.new_context(**options)
    page = context.new_page()
    said: list[str] = []
    page.on("console", noting(said, "text"))
    page.on("pageerror", noting(said, "message"))
    page.goto(served.address)
    yield page
    context.close()
    assert said == []


def violations(page: Any) -> list[str]:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run()")["violations"]
    return [f"{each['id']} at {each['nodes'][0]['target']}" for each in found]


def address_of(served: Served, name: str) -> str:
    return (
        served.url
        + {
            "model": "/model/organisations",
            "class": "/model/organisations/OrganisationMember",
            "sql": "/sql",
            "answer": f"/sql?sql={QUESTION.replace(' ', '%20').replace(chr(10), '%0A').replace('*', '%2A')}",
            "refused": "/sql?sql=DELETE%20FROM%20job",
        }[name]
    )


PAGES = ("model", "class", "sql", "answer", "refused")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_they_are_accessible(browser: Any, served: Served, scheme: str) -> None:
    found: list[str] = []
    for width in WIDTHS[:: 2 if scheme == "light" else 3]:
        with visiting(browser, served, color_scheme=scheme, viewport={"width": width, "height": 900}) as page:
            for name in PAGES:
                page.goto(address_of(served, name))
                found += [f"{name}, {width}: {each}" for each in violations(page)]
    assert found == []


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_its_window(browser: Any, served: Served, width: int) -> None:
    with visiting(browser, served, viewport={"width": width, "height": 900}) as page:
        for name in PAGES:
            page.goto(address_of(served, name))
            assert page.evaluate("document.documentElement.scrollWidth") == width, name


def test_a_class_is_reached_from_the_picture_by_keys(browser: Any, served: Served) -> None:
    with visiting(browser, served) as page:
        page.goto(address_of(served, "model"))
        box = page.locator("svg.diagram a", has_text="OrganisationMember")
        for _ in range(60):
            page.keyboard.press("Tab")
            if box.evaluate("each => each === document.activeElement"):
                break
        page.keyboard.press("Enter")
        page.wait_for_url("**/model/organisations/OrganisationMember")
        assert page.get_by_role("heading", level=1).inner_text() == "OrganisationMember"


def test_a_question_is_asked_by_keys_and_its_address_is_shared(browser: Any, served: Served) -> None:
    with visiting(browser, served) as page:
        page.goto(address_of(served, "sql"))
        page.get_by_label("One SELECT").focus()
        page.keyboard.insert_text(QUESTION)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/sql?sql=*")
        rows = page.locator("table.answer tbody tr")
        assert rows.first.inner_text().split() == ["harbour", "6"] or rows.count() == 2
        assert page.locator("figure.chart svg title").text_content() == "Members of each organisation"
        asked, shown = page.url, page.locator("table.answer").inner_text()
    with visiting(browser, served) as other:
        other.goto(asked)
        assert other.locator("table.answer").inner_text() == shown


def test_pages_without_a_server_open_from_the_disk_without_script(browser: Any, tmp_path: Path) -> None:
    write_site(model_view([organisations], MODULE), tmp_path)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    fetched: list[str] = []
    page.on("request", noting(fetched, "url"))
    page.goto((tmp_path / "index.html").as_uri())
    page.locator("svg.diagram a", has_text="TrailEntry").click()
    assert page.get_by_role("heading", level=1).inner_text() == "TrailEntry"
    page.get_by_role("link", name="organisations", exact=True).click()
    assert page.locator("svg.diagram a").count() == 8
    context.close()
    assert [url for url in fetched if not url.startswith("file:")] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_without_a_server_are_accessible(browser: Any, tmp_path: Path, scheme: str) -> None:
    write_site(model_view([organisations], MODULE), tmp_path)
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    found: list[str] = []
    for name in ("index", "organisations.OrganisationMember"):
        page.goto((tmp_path / f"{name}.html").as_uri())
        found += [f"{name}: {each}" for each in violations(page)]
    context.close()
    assert found == []
