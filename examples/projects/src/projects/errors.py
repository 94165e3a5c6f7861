"""What the application refuses, by what a caller can do about it.

ApplicationError
├── Invalid          the input: an item id that is not a path, a folder that holds something already
│   └── NoHistory    a folder whose git history can't be read
├── Missing          there is no such project, version or item
└── Refused          the data as it stands says no
    ├── OtherHistory     the project holds commits that the repository doesn't
    └── UnsafeName       a file's name that would be written outside its folder, or that git itself would act on
"""

from __future__ import annotations

from pathlib import Path

from examples_shared.errors import ApplicationError, Invalid, Missing, Refused
from examples_shared.textfile import name_of

__all__ = ["ApplicationError", "Invalid", "Missing", "NoHistory", "OtherHistory", "Refused", "UnsafeName"]


class NoHistory(Invalid):
    """A folder whose git history can't be read."""

    def __init__(self, folder: Path, why: str) -> None:
        super().__init__(f"{name_of(folder)} has no git history that can be read: {why}")


class OtherHistory(Refused):
    """The project holds commits that the repository doesn't."""

    def __init__(self, project_id: str, version: int, commit: str) -> None:
        super().__init__(
            f"version {version} of project {project_id!r} is commit {commit!r}, which is not number {version} of this "
            "history: that was rewritten or is another one, or the project was restored or branched; import it as "
            "another project with --project"
        )


class UnsafeName(Refused):
    """A file's name that would be written outside its folder, or that git itself would act on."""

    def __init__(self, id: str, why: str) -> None:
        super().__init__(f"nothing was written: the name of item {id!r} {why}")
