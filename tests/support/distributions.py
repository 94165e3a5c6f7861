"""A distribution on the path, as pip leaves it there: the metadata of one, beside its modules."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path


def distribution(folder: Path, name: str, version: str, entries: Mapping[str, Mapping[str, str]]) -> Path:
    """Write the metadata of a distribution with entry points by group, into a folder of the path. Returns its place."""
    place = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = (
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in of.items()) for group, of in entries.items()
    )
    (place / "entry_points.txt").write_text("\n".join(groups))
    return place


def unbuilt(folder: Path, source: Path) -> Path:
    """The metadata of a distribution that has been written and not built, from its `pyproject.toml`."""
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    return distribution(folder, project["name"], project["version"], project["entry-points"])
