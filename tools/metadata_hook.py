"""The parts of each distribution's metadata that name an address: its URLs, and the links of its README.

An index shows the README apart from the repository, so that a link to `docs/...` would lead nowhere there. Hatchling
calls this when it builds; the address stands in pyproject.toml, once.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)]+)\)")
"""A link of Markdown to a file of the repository."""


class MetadataHook(MetadataHookInterface):
    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        setting = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]
        address = setting["address"].rstrip("/")
        files = setting["files"].format(address=address, version=metadata["version"])
        folder = Path(self.root).resolve()
        place = f"{files}/{folder.relative_to(ROOT).as_posix()}/"
        text = (folder / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, place)}
        metadata["urls"] = {
            "Homepage": address,
            "Documentation": f"{files}/docs/tutorial/first-table.md",
            "Changelog": f"{files}/CHANGELOG.md",
            "Security": f"{files}/SECURITY.md",
            "Source": address,
        }


def absolute(markdown: str, place: str) -> str:
    """The same text, with links to files as addresses; `place` is that of the text's folder."""
    return _LINK.sub(lambda link: f"]({urljoin(place, link[1])})", markdown)
