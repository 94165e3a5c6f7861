"""The engine's version stands in five places: they are one."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from singletable_local import ENGINE_VERSION
from singletable_local.binary import PYTHON_ENGINE_VERSION, WITH_WHEEL
from tests.support.python_engine import EMULATOR
from tools.wheels import emulator
from tools.wheels.platforms import PLATFORMS, VERSION

ROOT = Path(__file__).parents[2]
LOCAL = tomllib.loads((ROOT / "packages" / "local" / "pyproject.toml").read_text())["project"]
NEEDED = {needed.name: needed for needed in map(Requirement, LOCAL["dependencies"])}
ENGINE, IN_PYTHON = NEEDED["singletable-engine"], NEEDED["singletable-engine-python"]


def test_every_place_names_one_version() -> None:
    engine = tomllib.loads((ROOT / "packages" / "engine" / "pyproject.toml").read_text())["project"]
    npm = json.loads((ROOT / "package.json").read_text())["optionalDependencies"]
    assert str(ENGINE.specifier) == f"=={ENGINE_VERSION}"
    assert {engine["version"], VERSION, *npm.values()} == {ENGINE_VERSION}


def test_the_wheel_s_archive_is_the_one_that_development_uses() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert {platform.package for platform in PLATFORMS.values()} == WITH_WHEEL
    for platform in PLATFORMS.values():
        assert lock[f"node_modules/{platform.package}"]["integrity"] == f"sha512-{platform.integrity}"


@pytest.mark.parametrize("system", ["linux", "darwin"])
@pytest.mark.parametrize(("machine", "processor"), [("x86_64", "x64"), ("aarch64", "arm64"), ("arm64", "arm64")])
def test_the_wheel_is_asked_for_where_there_is_one(system: str, machine: str, processor: str) -> None:
    """Elsewhere the local engine would have no version that pip can install."""
    assert ENGINE.marker is not None
    asked = ENGINE.marker.evaluate({"sys_platform": system, "platform_machine": machine})
    assert asked == (f"@dynoxide/{system}-{processor}" in WITH_WHEEL)


def test_the_engine_in_python_has_one_version_too() -> None:
    folder = ROOT / "packages" / "engine_python"
    wheel = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert {wheel["version"], emulator.VERSION, PYTHON_ENGINE_VERSION} == {emulator.VERSION}
    assert str(IN_PYTHON.specifier) == f"=={emulator.VERSION}"
    pinned = (ROOT / "requirements" / "emulators.txt").read_text()
    assert f"ministack=={emulator.VERSION} " in pinned
    assert f"sha256:{emulator.SHA256}" in pinned


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("machine", ["x86_64", "AMD64", "aarch64", "arm64"])
def test_every_platform_has_one_engine(system: str, machine: str) -> None:
    platform = {"sys_platform": system, "platform_machine": machine}
    assert ENGINE.marker is not None
    assert IN_PYTHON.marker is not None
    assert ENGINE.marker.evaluate(platform) != IN_PYTHON.marker.evaluate(platform)


def test_its_modules_are_all_that_its_process_imports() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); from ministack.services import dynamodb, dynamodb_streams; "
    code += "print(*(m.__file__ for n, m in sys.modules.items() if n.partition('.')[0] == 'ministack'), sep='\\n')"
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code, EMULATOR], capture_output=True, text=True, check=True)
    assert {str(Path(line).relative_to(EMULATOR / "ministack")) for line in ran.stdout.splitlines()} == {
        *emulator.MODULES
    }
