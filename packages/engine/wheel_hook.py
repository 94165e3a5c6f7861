"""Puts the binary that `tools.wheels` fetched into the wheel, and tags the wheel for the platform."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

REPOSITORY = Path(__file__).parents[2]
BINARY_VARIABLE, TAG_VARIABLE = "SINGLETABLE_ENGINE_BINARY", "SINGLETABLE_ENGINE_TAG"


class WheelHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        binary = os.environ.get(BINARY_VARIABLE)
        if not binary:
            raise SystemExit(f"{BINARY_VARIABLE} is not set: build with `make wheels`, which fetches the binary")
        build_data["pure_python"] = False
        build_data["tag"] = os.environ[TAG_VARIABLE]
        build_data["force_include"][binary] = "singletable_engine/dynoxide"
        build_data["force_include"][str(REPOSITORY / "LICENSE")] = "singletable_engine/LICENSE"
