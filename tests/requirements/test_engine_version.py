"""The engine's version stands in five places: they are one."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from singletable_local import ENGINE_VERSION
from singletable_local.binary import WITH_WHEEL
from tools.wheels.platforms import PLATFORMS, VERSION

ROOT = Path(__file__).parents[2]


def test_every_place_names_one_version() -> None:
    local = tomllib.loads((ROOT / "packages" / "local" / "pyproject.toml").read_text())["project"]
    engine = tomllib.loads((ROOT / "packages" / "engine" / "pyproject.toml").read_text())["project"]
    npm = json.loads((ROOT / "package.json").read_text())["optionalDependencies"]
    assert f"singletable-engine=={ENGINE_VERSION}" in local["dependencies"]
    assert {engine["version"], VERSION, *npm.values()} == {ENGINE_VERSION}


def test_the_wheel_s_archive_is_the_one_that_development_uses() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert {platform.package for platform in PLATFORMS.values()} == WITH_WHEEL
    for platform in PLATFORMS.values():
        assert lock[f"node_modules/{platform.package}"]["integrity"] == f"sha512-{platform.integrity}"
