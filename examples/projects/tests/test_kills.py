"""An import that is killed, whatever it was doing, and started again: every version once, none missing."""

from __future__ import annotations

import os
from pathlib import Path

from examples.projects.tests.comparing import assert_same_history
from examples.projects.tests.gitted import REGULAR, Step, commits_of, make_repository
from examples_shared.testing.nursery import Process, start_program
from projects.import_git import import_git
from projects.model import Repository
from projects.service import Service
from singletable import NotFound, connect
from singletable.documents import Documents, LocalBlobs

COMMITS = 60
KILLS = (3, 10, 25)
"""At which versions; where in making the next one, the machine decides."""


def test_an_import_that_is_killed_and_raced_is_finished(tmp_path: Path) -> None:
    steps = [Step({b"%d" % (n % 7): (REGULAR, b"%d" % n), b"dir/%d" % n: (REGULAR, b"x")}) for n in range(COMMITS)]
    repository = make_repository(tmp_path / "git", steps)
    target, blobs = f"local:{tmp_path}/projects.db", tmp_path / "blobs"
    with connect(target) as db:
        app = Service(db, LocalBlobs(blobs))
        app.create_table()
        for version in KILLS:
            _killed_at(app.repositories, version, _start(target, blobs, repository))
        racing = [_start(target, blobs, repository) for _ in range(2)]
        assert [process.wait(100) for process in racing] == [0, 0]
        assert import_git(db, app.blobs, repository, organisation="demo", project="p").commits == []
        assert_same_history(app.repositories, "p", repository, commits_of(repository))
        assert app.repositories.head("p").version == COMMITS
        assert app.repositories.check("p") == []


def _start(target: str, blobs: Path, repository: Path) -> Process:
    stores = ["--db", target, "--blobs", str(blobs)]
    arguments = [*stores, "import-git", str(repository), "--project", "p"]
    with open(os.devnull, "wb") as nowhere:
        return start_program("projects", *arguments, warm=["projects.cli"], stdout=nowhere, stderr=nowhere)


def _killed_at(documents: Documents[Repository], version: int, process: Process) -> None:
    while _version(documents) < version:
        assert process.poll() is None, "the import has ended by itself"
    process.kill()
    process.wait()


def _version(documents: Documents[Repository]) -> int:
    try:
        return documents.head("p", collections=()).version
    except NotFound:
        return -1
