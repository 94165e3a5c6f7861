"""A mutation makes the same bytes in every process, whatever its hash seed and locale: contents have equal names."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from singletable import Table
from singletable.documents import Document, Draft, Items

PROGRAM = """
import sys
from singletable import connect
from singletable.documents import Documents, LocalBlobs
from tests.documents.test_determinism import Board, paint, tidy

with connect("local") as db:
    docs = Documents(db, Board, blobs=LocalBlobs(sys.argv[1]))
    docs.create("o1", "p1")
    docs.apply("p1", [paint(id=str(n), words=["b", "a", "\\u00e9", "c"]).by("c", n + 1) for n in range(3)])
    docs.apply("p1", [tidy().by("c", 4)])
    docs.create("o1", "p2")
    docs.replay("p1", since=0, onto="p2")
    for id in ("p1", "p2"):
        head = docs.head(id)
        print({item: head.marks.hash_of(item) for item in sorted(head.marks)}, head.words)
"""


@dataclass(frozen=True)
class Mark:
    words: frozenset[str]
    by_word: dict[str, int]


class Board(Document, table=Table("determinism", indexes=["gsi1"]), index="gsi1"):
    words: list[str] = []
    marks: Items[Mark]


@Board.mutation
def paint(draft: Draft[Board], *, id: str, words: list[str]) -> None:
    """Sets and dictionaries in the order in which this process has them."""
    draft.marks[id] = Mark(frozenset(words), {word: len(word) for word in set(words)})


@Board.mutation
def tidy(draft: Draft[Board]) -> None:
    for id in list(draft.marks):
        draft.marks[id] = replace(draft.marks[id], by_word={})
    draft.words = sorted({word for mark in draft.marks.values() for word in mark.words})


@pytest.mark.embedded("each process starts its own")
def test_mutations_make_the_same_contents_in_every_process(tmp_path: Path) -> None:
    said = set[str]()
    for seed, locale in (("1", "C"), ("2", "C.UTF-8")):
        environ = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale}
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / seed)]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=60)
        said |= set(done.stdout.splitlines())
    assert len(said) == 1, "in each process, and where they are replayed"
