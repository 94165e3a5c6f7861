"""The gate: what an export's folder or an import's file says is checked here, before memory or files are touched.

A folder may come from somebody else. So its manifest is read into these types; a store takes no path that leads out of
its folder; and nothing that is larger than an export makes it is read at once.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from singletable.errors import Corrupt

MOST_BYTES: Final = 64 << 20
"""The size of a file that is read at once: a manifest of 300,000 files."""
MOST_NAMES: Final = 10_000
"""The most tables or datasets of an export, or columns of a dataset."""

_ID: Final = r"[0-9]{8}T[0-9]{6}Z-[0-9A-Za-z_]{6}"
ExportId = Annotated[str, Meta(pattern=rf"\A{_ID}\Z")]
"""An export's id is a folder: another name would be another folder, whose files are deleted."""
DatasetName = Annotated[str, Meta(pattern=r"\A[a-z0-9_]{1,255}\Z")]
FilePath = Annotated[str, Meta(pattern=rf"\A{_ID}/[a-z0-9_]{{1,255}}/[a-z0-9_.-]{{1,255}}\Z")]
Count = Annotated[int, Meta(ge=0, le=1 << 62)]

_OTHERS: Final = re.compile(r"[\x00-\x1f\x7f\\]").search
_HINT: Final = "Don't use what somebody else may have written; export again, into another folder."


def is_below(path: str) -> bool:
    """Whether a path stays below its folder, on each system and in each bucket."""
    parts = path.split("/")
    return not _OTHERS(path) and {"", ".", ".."}.isdisjoint(parts) and ":" not in parts[0][:2]


def check_path(path: str, where: str) -> str:
    """A path below a folder. Corrupt for one that leads out of it."""
    if not is_below(path):
        raise Corrupt(f"{where} names files outside of its folder", hint=_HINT)
    return path


def path_in(directory: Path, path: str) -> Path:
    """A path below a directory; "" is the directory. Raises Corrupt for one that leads out of it, by links too."""
    if not path:
        return directory
    place = directory / check_path(path, str(directory))
    if not place.resolve().is_relative_to(directory.resolve()):
        raise Corrupt(f"{directory}: {path} is a link to files outside of it", hint="Put the files in its place.")
    return place


def check_size(size: int, where: str) -> None:
    """Corrupt for a file that is too large to be read at once."""
    if size > MOST_BYTES:
        raise Corrupt(f"{where} has {size:,} bytes; what an export writes there has {MOST_BYTES:,} at most", hint=_HINT)
