"""What is built: an sdist without ballast, a README whose links are addresses, metadata that is whole."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from singletable import __version__
from tools.distributions import FOLDERS, ROOT

LARGEST_SDIST = 1_500_000


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return out


def metadata_of(built: Path) -> Message:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        (name,) = (each for each in files.namelist() if each.endswith(".dist-info/METADATA"))
        return Parser().parsestr(files.read(name).decode())


def test_the_distributions_pin_each_other_exactly() -> None:
    """What is released together is installed together: each names the one version."""
    projects = [tomllib.loads((folder / "pyproject.toml").read_text())["project"] for folder in FOLDERS]
    extras = [each for group in projects[0]["optional-dependencies"].values() for each in group]
    needed = [*extras, *(each for project in projects for each in project["dependencies"])]
    own = [each for each in needed if each.startswith("singletable") and "-engine" not in each]
    names = [project["name"] for project in projects]
    assert {each.partition("==")[2] for each in own} == {__version__}
    assert {re.split(r"[\[=]", each)[0] for each in own} == {*names}
    folders = {path.name for path in (ROOT / "packages").iterdir()}
    assert {folder.name for folder in FOLDERS[1:]} == folders - {"engine", "engine_python"}


@pytest.mark.parametrize("folder", FOLDERS[1:], ids=lambda folder: folder.name)
def test_a_distribution_beside_the_library_has_its_page_and_its_package(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    told = metadata_of(tmp_path)
    package = f"singletable_{folder.name}"
    assert (told["Name"], told["Version"]) == (f"singletable-{folder.name}", __version__)
    assert "Documentation" in {url.partition(",")[0] for url in told.get_all("Project-URL", [])}
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    assert {name.split("/")[0] for name in names} == {package, f"{package}-{__version__}.dist-info"}
    assert {f"{package}/py.typed", f"{package}-{__version__}.dist-info/licenses/LICENSE"} <= {*names}
    links = re.findall(r"\]\(([^)#]+)", str(told.get_payload()))
    page = re.findall(r"\]\(([^)#]+)", (folder / "README.md").read_text())
    assert len(links) == len(page) > 1
    assert all(link.startswith("https://") for link in links)
    assert [link for link in page if not (folder / link).exists()] == []


def test_an_sdist_has_no_ballast(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    assert sdist.name == f"singletable-{__version__}.tar.gz"
    assert sdist.stat().st_size < LARGEST_SDIST
    with tarfile.open(sdist) as files:
        names = [Path(name).relative_to(f"singletable-{__version__}") for name in files.getnames()]
    top = {path.parts[0] for path in names}
    assert top == {
        *("src", "tools", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "SECURITY.md", "pyproject.toml"),
        ".gitignore",
    }
    assert [path for path in names if path.parts[0] == "tools"] == [Path("tools/metadata_hook.py")]


def test_the_wheel_has_the_library_only(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        tops = {name.split("/")[0] for name in files.namelist()}
    assert tops == {"singletable", f"singletable-{__version__}.dist-info"}


def test_links_of_the_readme_are_addresses(built: Path) -> None:
    """As many as the README has, each to a file that is there."""
    text = metadata_of(built).get_payload()
    assert isinstance(text, str)
    setting = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    files = setting["files"].format(address=setting["address"], version=__version__)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) == len(re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text()))
    own = [link.removeprefix(f"{files}/") for link in links if link.startswith(files)]
    assert len(own) > 40
    assert [link for link in own if not (ROOT / link.partition("#")[0]).exists()] == []
    assert [link for link in links if not re.match(r"https?://|#", link)] == []


def test_the_metadata_is_whole(built: Path) -> None:
    told = metadata_of(built)
    assert (told["Name"], told["Version"], told["License-Expression"]) == ("singletable", __version__, "Apache-2.0")
    assert told["Author"] or told["Author-email"]
    named = {url.partition(",")[0] for url in told.get_all("Project-URL", [])}
    assert named == {"Homepage", "Documentation", "Changelog", "Security", "Source"}
    classifiers = told.get_all("Classifier", [])
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)} <= set(classifiers)
    extras = told.get_all("Provides-Extra", [])
    assert {"aws", "cli", "cursors", "documents", "local", "mcp", "reports"} <= set(extras)
    needed = [each for each in told.get_all("Requires-Dist", []) if "extra ==" not in each]
    assert sorted(re.split(r"[>=]", each)[0] for each in needed) == ["httptools", "msgspec"]
