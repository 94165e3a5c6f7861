"""The words of a document class and of its collections, in keys and paths."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """The words of a document class in keys and paths."""

    document: str
    prefix: str
    parent: str
    plural: str


@dataclass(frozen=True)
class CollectionWords:
    """The words of a collection in keys and paths."""

    word: str
    prefix: str

    @property
    def folder(self) -> str:
        return self.word.lower()
