"""Replicache's JavaScript client and what it imports, served from where npm put them. Nothing of it is copied here."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

PREFIX = "/static/npm"
NODE_MODULES = Path(__file__).parents[5] / "node_modules"
MODULES = {
    "replicache": "out/replicache.js",
    "@badrap/valita": "dist/mjs/index.mjs",
    "@rocicorp/lock": "out/lock.js",
    "@rocicorp/logger": "out/logger.js",
    "@rocicorp/resolver": "out/resolver.js",
}
"""The names that its modules import, and the file of each package that a browser loads."""

IMPORT_MAP = json.dumps(
    {"imports": {name: f"{PREFIX}/{name}/{file}" for name, file in MODULES.items()}}, separators=(",", ":")
)
IMPORT_MAP_HASH = "sha256-" + base64.b64encode(hashlib.sha256(IMPORT_MAP.encode()).digest()).decode()
"""The content security policy allows this one inline script by its hash."""


def missing(node_modules: Path = NODE_MODULES) -> list[str]:
    """The packages that are not there."""
    return [name for name, file in MODULES.items() if not (node_modules / name / file).is_file()]


def mounts(node_modules: Path = NODE_MODULES) -> list[Mount]:
    """The folder of each package that its modules lie in, and no other of it."""
    folders = {name: Path(file).parent for name, file in MODULES.items()}
    return [
        Mount(f"{PREFIX}/{name}/{folder}", StaticFiles(directory=node_modules / name / folder, check_dir=False))
        for name, folder in folders.items()
    ]
