"""The parts of the package's metadata that name an address: its URLs, and the links of its README.

An index shows the README apart from the repository, so that a link to `docs/...` would lead nowhere there. Hatchling
calls this when it builds; the address stands in pyproject.toml, once.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)]+)\)")
"""A link of Markdown to a file of the repository."""


class MetadataHook(MetadataHookInterface):
    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        setting = cast("dict[str, str]", self.config)  # pyright: ignore[reportUnknownMemberType] of hatchling
        address = setting["address"].rstrip("/")
        files = setting["files"].format(address=address, version=metadata["version"])
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, files)}
        metadata["urls"] = {
            "Homepage": address,
            "Documentation": f"{files}/docs/tutorial/first-table.md",
            "Changelog": f"{files}/CHANGELOG.md",
            "Security": f"{files}/SECURITY.md",
            "Source": address,
        }


def absolute(markdown: str, files: str) -> str:
    """The same text, with links to files as addresses below `files`."""
    return _LINK.sub(lambda found: f"]({files}/{found[1]})", markdown)
