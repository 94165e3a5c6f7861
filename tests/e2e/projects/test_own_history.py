"""This repository's own history, imported: every version's files are the commit's tree, byte for byte."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from examples.projects.import_git import import_git
from examples.projects.service import Service
from tests.e2e.projects.comparing import assert_same_history
from tests.e2e.projects.conftest import ORGANISATION
from tests.e2e.projects.gitted import commits_of
from tests.support.commandline import ROOT

FIRST = 60
"""Commits of the short run."""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A clone that stays as it is while people commit; skipped where there is no history to clone."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("there is no git repository here")
    clone = ["git", "clone", "--quiet", "--bare", "--no-hardlinks", str(ROOT), str(tmp_path / "own")]
    done = subprocess.run(clone, capture_output=True, check=False, timeout=60)
    if done.returncode or len(commits_of(tmp_path / "own")) < 2:
        pytest.skip("the history here is shallow, or somebody else's")
    return tmp_path / "own"


def assert_imported(app: Service, own: Path, limit: int | None) -> float:
    ids = commits_of(own)[:limit]
    began = time.perf_counter()
    done = import_git(app.db, app.blobs, own, organisation=ORGANISATION, limit=limit)
    took = time.perf_counter() - began
    assert done.versions == len(ids)
    assert_same_history(app.repositories, done.project, own, ids)
    for each in done.commits:
        assert each.rest <= each.allowed == 2048 + 120 * each.files, each
    assert done.written < done.copied
    return took


def test_the_first_commits(app: Service, own: Path) -> None:
    assert_imported(app, own, FIRST)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_every_commit(app: Service, own: Path) -> None:
    assert assert_imported(app, own, None) < 120
