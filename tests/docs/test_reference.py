"""The reference pages name everything that is there, and nothing that is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from msgspec.structs import replace

from singletable import SingletableError
from singletable.cli.app import app
from singletable.flow import FlowSuspended
from singletable.graph import EdgeMoved
from singletable.graph.check import GraphCheck
from singletable.jobs import JobRefused
from singletable.jobs.check import JobCheck
from singletable.migrations import ApplyRefused, PlanRefused
from singletable.records import conditions
from singletable.records.check import RecordCheck
from singletable.schema.table import ATTACHED_TYPES
from singletable.schema.tool_items import ITEMS
from singletable.tasks import ClaimLost, Unfinished, UnknownTask
from singletable.wire.error_answers import VERDICTS, Verdict
from tests.docs import stored_items, stored_samples
from tests.docs.cli_reference import PAGE, commands, program, reference
from tests.docs.pages import DOCS, ROOT
from tests.docs.stored_lives import LIVES
from tests.faults import proven
from tests.oracle.test_every_kind import CHECKERS, kinds_of
from tests.support.no_engine import no_engine
from tools.site.error_pages import entries

__all__ = ["no_engine"]

ERRORS = (DOCS / "reference" / "errors.md").read_text()
PROGRAM = program()
COMMANDS = [context.command_path for _, context in commands(app, PROGRAM)]


BESIDE = (FlowSuspended, EdgeMoved, ClaimLost, UnknownTask, Unfinished, PlanRefused, ApplyRefused, JobRefused)
"""Errors that live beside what raises them."""


def errors(kind: type[SingletableError] = SingletableError) -> Iterator[type[SingletableError]]:
    """The public tree, with what layers tell of."""
    yield kind
    for sub in kind.__subclasses__():
        if sub.__module__ == "singletable.errors" or sub in BESIDE:
            yield from errors(sub)


def test_the_page_of_what_is_proven_is_the_catalogue() -> None:
    assert proven.PAGE.read_text() == proven.page(), "write it anew: python -m tests.faults.proven"


def test_the_page_of_the_command_line_is_its_help() -> None:
    assert PAGE.read_text() == reference(), "write it anew: python -m tests.docs.cli_reference"


def test_the_page_of_stored_items_is_their_forms() -> None:
    text = stored_items.PAGE.read_text()
    assert text == stored_items.reference(stored_items.forms_in(text)), "write it: python -m tests.docs.stored_items"


def test_every_class_of_the_librarys_own_items_is_on_the_page() -> None:
    own = {name for name in (*ITEMS.own, *ATTACHED_TYPES) if name.startswith("_")}
    declared = {m.type for t in (stored_samples.app, stored_samples.records) for m in t.models}
    assert stored_items.forms_in(stored_items.PAGE.read_text()).keys() == LIVES.keys() == own | declared


@pytest.mark.parametrize(
    ("now", "is_refused"),
    [
        ({"lines": ("key a", "n N integer")}, False),
        ({"lines": ("key a", "n S text")}, True),
        ({"lines": ("key a",)}, True),
        ({"lines": ("key b", "n N integer")}, True),
        ({"lines": ("key a", "n N integer", "more S text")}, True),
        ({"lines": ("key a", "n N integer", "more S text (may be absent)")}, False),
        ({"lines": ("key b",), "version": 3}, False),
        ({"lines": ("key a", "n N integer"), "version": 1}, True),
    ],
)
def test_a_form_changes_with_its_version(now: dict[str, Any], is_refused: bool) -> None:
    known = stored_items.StoredForm("x", 2, ("key a", "n N integer"), "\n* Version 1: `key z`\n")
    form = replace(known, former="", **now)
    with pytest.raises(ValueError, match="raise its version") if is_refused else nullcontext():
        after = form.after(known)
        of_before = "\n* Version 2: `key a · n N integer`\n" if form.version == 3 else ""
        assert after.former == f"{known.former}{of_before}"
        page = (
            f"## `x`, version {after.version}\n\nText.\n\n```text\n" + "\n".join(after.lines) + f"\n```\n{after.former}"
        )
        assert stored_items.forms_in(page) == {"x": after}


@pytest.mark.parametrize("path", COMMANDS)
def test_each_command_has_help(path: str) -> None:
    command = next(c for c, context in commands(app, PROGRAM) if context.command_path == path)
    assert command.help
    assert f"## {path}\n" in PAGE.read_text()


@pytest.mark.parametrize("kind", list(errors()), ids=lambda kind: kind.__name__)
def test_each_error_has_an_entry(kind: type[SingletableError]) -> None:
    entry = re.search(
        rf"^#+ {kind.__name__} · `{re.escape(kind.code)}`\n(.*?)(?=^#|\Z)", ERRORS, re.DOTALL | re.MULTILINE
    )
    assert entry is not None
    assert "**What to do.**" in entry[1]


@pytest.mark.parametrize("kind", list(errors()), ids=lambda kind: kind.__name__)
def test_each_error_links_to_its_page(kind: type[SingletableError], monkeypatch: pytest.MonkeyPatch) -> None:
    error = kind("It failed", hint="Look.", table="shop")
    monkeypatch.setattr("singletable.errors.DOCS_URL", "https://docs.example.org")
    page = entries()[kind.code].place.with_name(f"{kind.code}.html")
    address = f"https://docs.example.org/{page.as_posix()}"
    assert error.help_url == address
    assert str(error) == f"It failed (table shop). Look.\nSee {address}"
    assert ERRORS.count(f'<a id="{kind.code}"></a>\n\n') == 1


FINDINGS = (DOCS / "reference" / "findings.md").read_text()
CODES = {(file.parent.name, code) for file in CHECKERS for code in kinds_of(file)}


def test_each_finding_is_listed_with_its_layer() -> None:
    listed: set[tuple[str, str]] = set()
    for section in FINDINGS.split("\n## ")[1:]:
        layer = section.split("\n", 1)[0].lower()
        first_cells = re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE)
        listed |= {(layer, code) for cell in first_cells for code in re.findall(r"`([^`]+)`", cell)}
    assert listed == CODES


def test_the_findings_with_a_repair_are_those_that_the_library_repairs() -> None:
    """The fourth cell of records, graph and jobs; the other layers have no such column."""
    rows = re.findall(r"^\| `([\w.-]+)` \|[^|]*\|([^|]*)\|[^|]*\|$", FINDINGS, re.MULTILINE)
    repaired = {code for code, repair in rows if repair.strip()}
    assert repaired == {code for check in (RecordCheck, GraphCheck, JobCheck) for code in check.repairs}


def test_without_a_site_no_error_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("singletable.errors.DOCS_URL", None)
    error = SingletableError("It failed", hint="Look.", table="shop")
    assert error.help_url is None
    assert str(error) == "It failed (table shop). Look."


def test_each_anchor_stands_before_its_entry() -> None:
    anchors = re.findall(r'<a id="([^"]+)"></a>\n\n#+ \w+ · `([^`]+)`', ERRORS)
    assert all(anchor == code for anchor, code in anchors)
    assert len(anchors) == len(re.findall(r"<a id=", ERRORS))


def test_no_entry_is_of_an_error_that_is_gone() -> None:
    assert set(re.findall(r"^#+ (\w+) · `", ERRORS, re.MULTILINE)) == {kind.__name__ for kind in errors()}


def test_the_table_of_the_service_s_codes_is_the_code_s() -> None:
    """Each row holds the codes of its verdict, all of them; the last one stands for the rest."""
    rows = re.findall(
        r"^\| [^|]+ \| ([^|]+) \| ([^|]+) \|$", ERRORS.partition("## What the service's codes become")[2], re.MULTILINE
    )
    told = {code for _, codes in rows[1:-1] for code in re.findall(r"`(\w+)`", codes)} - {
        "TransactionCanceledException"
    }
    assert told == {code for code, verdict in VERDICTS.items() if verdict is not Verdict.ANSWER}
    for _, codes in rows[1:-1]:
        assert len({VERDICTS[code] for code in re.findall(r"`(\w+)`", codes)} - {Verdict.ANSWER}) == 1


def test_codes_are_all_different() -> None:
    codes = [kind.code for kind in errors()]
    assert len(set(codes)) == len(codes)


def test_the_write_rules_have_a_row_for_each_verb_of_the_code() -> None:
    page = (DOCS / "reference" / "write-rules.md").read_text()
    verbs = re.findall(r"^(\w+)  +\w", conditions.__doc__ or "", re.MULTILINE)
    assert verbs
    assert re.findall(r"^\| \*\*(\w+)\*\*", page, re.MULTILINE) == verbs


def test_each_dependency_has_its_reason() -> None:
    declared = re.search(r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE)
    assert declared is not None
    page = (DOCS / "explanation" / "dependencies.md").read_text()
    names = [*re.findall(r'"([a-z]+)', declared[1]), "botocore", "click", "rich", "dynoxide"]
    assert [name for name in names if f"**{name}**" not in page] == []
