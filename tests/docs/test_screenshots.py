"""Pictures of the studio in the documentation: listed, small, shown with a text; and one that is behind is found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.docs.pages import DOCS
from tools.screenshots import shots
from tools.screenshots.__main__ import FOLDER, LIST
from tools.screenshots.shots import SHOTS, STUDIO, digest_of

MOST_BYTES = 1_500_000
PAGE = (DOCS / "how-to" / "studio.md").read_text()


def test_the_list_has_every_picture_and_no_other() -> None:
    assert [*json.loads(LIST.read_text())] == [shot.name for shot in SHOTS]
    assert {file.name for file in FOLDER.glob("*.png")} == {shot.file for shot in SHOTS}
    assert len(SHOTS) == 10


def test_all_of_them_are_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.glob("*.png")) < MOST_BYTES


def test_each_is_shown_with_what_is_seen_in_it() -> None:
    for shot in SHOTS:
        assert f"![{shot.says}](../images/studio/{shot.file})" in PAGE


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The studio's templates and styles in a folder of their own."""
    for part in ("templates", "static"):
        shutil.copytree(STUDIO / part, tmp_path / part)
    monkeypatch.setattr(shots, "STUDIO", tmp_path)
    return tmp_path


def changed(copied: Path, file: str) -> set[str]:
    """The pictures that are behind after a change of a file."""
    before = {shot.name: digest_of(shot) for shot in SHOTS}
    (copied / file).write_text((copied / file).read_text() + "\n")
    return {shot.name for shot in SHOTS if digest_of(shot) != before[shot.name]}


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("templates/model.html", {"model"}),
        ("static/sql.css", {"sql"}),
        ("templates/graph.html", {"graph"}),
        ("templates/letter.html", set[str]()),
    ],
)
def test_a_changed_page_is_behind_and_no_other(copied: Path, file: str, names: set[str]) -> None:
    assert changed(copied, file) == names


@pytest.mark.parametrize("file", ["templates/base.html", "templates/_parts.html", "static/studio.css"])
def test_what_pages_share_is_in_all_of_them(copied: Path, file: str) -> None:
    assert changed(copied, file) == {shot.name for shot in SHOTS}


def test_the_same_files_give_the_same_digest(copied: Path) -> None:
    assert {shot.name: digest_of(shot) for shot in SHOTS} == {shot.name: digest_of(shot) for shot in SHOTS}
