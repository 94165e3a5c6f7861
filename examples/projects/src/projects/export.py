"""A repository's version, written into a folder."""

from __future__ import annotations

from pathlib import Path

from projects.service import Service
from projects.tree import paths_of, write_tree


def export_version(app: Service, project_id: str, version: int, folder: Path) -> int:
    """Write the files of a version, read side by side, into a folder that is new or empty; gives how many there are.

    Missing for what is not a repository or has no such version; UnsafeName and Invalid before anything is written.
    """
    found = app.repository(project_id, version)
    paths = paths_of(found.files)
    write_tree(folder, {paths[id]: file for id, file in found.files.all().items()})
    return len(paths)
