"""The engine's version stands in five places: they are one."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from singletable_local import ENGINE_VERSION
from singletable_local.binary import WITH_WHEEL
from tools.wheels.platforms import PLATFORMS, VERSION

ROOT = Path(__file__).parents[2]
LOCAL = tomllib.loads((ROOT / "packages" / "local" / "pyproject.toml").read_text())["project"]
(ENGINE,) = (needed for needed in map(Requirement, LOCAL["dependencies"]) if needed.name == "singletable-engine")


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
