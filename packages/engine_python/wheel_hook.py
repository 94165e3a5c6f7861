"""Puts the modules that `tools.wheels` fetched into the wheel."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER_VARIABLE = "SINGLETABLE_ENGINE_EMULATOR"


class WheelHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get(FOLDER_VARIABLE)
        if not folder:
            raise SystemExit(f"{FOLDER_VARIABLE} is not set: build with `make wheels`, which fetches the modules")
        build_data["force_include"][folder] = "singletable_engine_python/emulator"
