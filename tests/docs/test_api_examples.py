"""The examples of the reference run: those of a package's page one after the other, those of errors each by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from singletable import connect
from singletable.flow import SQS
from tests.docs.pages import named, run
from tests.support.emulators import aws_emulator
from tests.support.queue_operations import CreateQueue
from tools.site.error_pages import Entry, entries
from tools.site.public import API

__all__ = ["aws_emulator"]

QUEUES = API / "queues.md"
PAGES = sorted({*API.glob("*.md")} - {API / "index.md", QUEUES})


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_its_examples_run(page: Path) -> None:
    run(page)


@pytest.mark.parametrize("entry", entries().values(), ids=lambda entry: entry.code)
def test_the_example_of_an_error_runs_by_itself(entry: Entry, tmp_path: Path) -> None:
    """As its own page has it."""
    page = tmp_path / f"{entry.name}.md"
    page.write_text(f"```python\n{entry.program}\n```\n")
    run(page).__dict__["db"].close()


def test_the_examples_of_queues_run(aws_emulator: str, tmp_path: Path) -> None:
    """On an emulator of SQS, at its own address."""
    with connect(aws_emulator, region="us-east-1") as db:
        address = db.run(db.port.to(SQS).send(CreateQueue("mail", {})))
    page = tmp_path / "queues.md"
    text = QUEUES.read_text().replace("http://127.0.0.1:4566/000000000000/mail", address)
    page.write_text(text.replace("http://127.0.0.1:4566", aws_emulator))
    run(page)
