"""The pins: every file has a hash, `make pins` moves no version, and nothing names where packages come from."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from requirements import pins
from requirements.pins import header_of, pins_of, renewed, upgraded

ROOT = Path(__file__).parents[2]
LISTS = sorted(path for path in (ROOT / "requirements").glob("*.txt") if path.name != "accepted.txt")
HASH = "sha256:" + "a" * 64


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.name)
def test_every_package_is_pinned_with_hashes(path: Path) -> None:
    body = path.read_text().removeprefix(header_of(path.read_text()))
    entries = re.split(r"\n(?=\S)", body.strip())
    assert len(entries) == len(pins_of(body))
    for entry in entries:
        assert re.fullmatch(r"[\w.-]+==\S+( ; [^\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+", entry), entry


@pytest.mark.parametrize("path", [*LISTS, ROOT / "package-lock.json"], ids=lambda path: path.name)
def test_no_list_names_where_packages_come_from(path: Path) -> None:
    text = re.sub(r'"(license|url)": "[^"]*"', "", path.read_text())
    assert "://" not in text
    assert "index-url" not in text


def test_every_package_of_npm_has_its_hash() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert all(found["integrity"].startswith("sha512-") for name, found in packages.items() if name)


def test_the_demo_has_the_pins_of_development() -> None:
    """It is a part of the same environment."""
    demo, dev = (
        re.split(r"\n(?=\S)", (ROOT / "requirements" / f"{name}.txt").read_text().strip()) for name in ("demo", "dev")
    )
    assert {*demo[1:]} < {*dev}
    assert {*pins.OWN["demo"]} <= pins_of("\n".join(demo)).keys()


@pytest.mark.parametrize("name", pins.OLDEST_PYTHON)
def test_packages_of_a_newer_python_stand_beside_those_of_development(name: str) -> None:
    """Both lists are installed into one environment."""
    newer, dev = (pins_of((ROOT / "requirements" / f"{name}.txt").read_text()) for name in (name, "dev"))
    assert {package: dev[package] for package in newer.keys() & dev.keys()}.items() <= newer.items()
    assert {*pins.OWN[name]} <= newer.keys() - dev.keys()


def test_a_list_that_this_python_cannot_install_stays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pins, "OLDEST_PYTHON", {"newer_peers": (99, 1)})
    monkeypatch.setattr(sys, "argv", ["pins", "newer_peers", "--upgrade"])
    before = (ROOT / "requirements" / "newer_peers.txt").read_bytes()
    assert pins.main() == 0
    assert "newer_peers.txt stays as it is, it needs Python 99.1" in capsys.readouterr().out
    assert (ROOT / "requirements" / "newer_peers.txt").read_bytes() == before


def test_make_installs_nothing_without_its_hash() -> None:
    makefile = (ROOT / "Makefile").read_text()
    installs = re.findall(r"pip install.*|\$\(INSTALL\).*", makefile)
    assert len(installs) == len(LISTS) - len(pins.OLDEST_PYTHON) + 2
    for line in installs:
        assert "--require-hashes" in line or line.startswith("$(INSTALL)") or "--no-deps" in line


def test_hashes_are_renewed_and_versions_stay() -> None:
    asked: list[str] = []

    def compiled(text: str) -> str:
        asked.append(text)
        return f"a-b==1.0 \\\n    --hash={HASH}\nc==2 \\\n    --hash={HASH}\nnew==3 \\\n    --hash={HASH}\n"

    pins = 'A_b==1.0 \\\n    --hash=sha256:old\nc==2 ; python_version < "3.14" \\\n    --hash=sha256:old\n'
    text, added = renewed(f"# why\n# and how\n{pins}", compiled)
    assert asked == ['a-b==1.0\nc==2 ; python_version < "3.14"\n']
    assert text.startswith(f"# why\n# and how\na-b==1.0 \\\n    --hash={HASH}\n")
    assert added == ["new==3"]


@pytest.mark.parametrize("made", ["a==1.1\n", "b==1\n", ""])
def test_a_version_that_would_move_is_refused(made: str) -> None:
    with pytest.raises(ValueError, match="version of a would not stay"):
        renewed("a==1.0\n", lambda text: made)


def test_an_upgrade_reports_what_moved() -> None:
    text, changes = upgraded("# why\na==1\nb==1\ngone==1\n", ["a>=1"], lambda text: "a==2\nb==1\nnew==1\n")
    assert text == "# why\na==2\nb==1\nnew==1\n"
    assert changes == ["a 1 -> 2", "gone 1 -> -", "new - -> 1"]


def test_each_list_says_what_it_is_made_from() -> None:
    for path in LISTS:
        asked = [re.match(r"[\w.-]+", each) for each in pins.asked_for(path.stem)]
        names = {re.sub(r"[-_.]+", "-", found[0]).lower() for found in asked if found}
        assert names <= pins_of(path.read_text()).keys()
