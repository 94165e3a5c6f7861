"""A file as an item's content: what git knows of it besides its name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class File:
    """`mode` in git's six digits. A symlink's text is its target, a submodule's the id of its commit.

    `text` is the content wherever that is UTF-8: so it is as small compressed as in git, and can be read in the blob
    store. `data` is any other.
    """

    mode: str
    text: str = ""
    data: bytes = b""

    @classmethod
    def of(cls, mode: str, content: bytes) -> File:
        try:
            return cls(mode, text=content.decode())
        except UnicodeDecodeError:
            return cls(mode, data=content)

    @property
    def content(self) -> bytes:
        return self.data or self.text.encode()
