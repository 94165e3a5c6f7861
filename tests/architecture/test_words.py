"""The English of the library: plain sentences in docstrings, comments, errors and helps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tools.distributions import ROOT, modules

MOST_PER_1000_WORDS = 4.0
_COMMENT = re.compile(r"(?:^ *|  )# (?!type:|pyright:|noqa)(.* .*)")
PENDING: set[str] = set()
"""Packages that exceed the bound. It only shrinks."""


@dataclass(frozen=True)
class Phrase:
    """A phrase that makes a sentence hard to read: its pattern, an example, and the example in plain words."""

    pattern: str
    example: str
    plain: str


PHRASES = (
    Phrase(r"\b(is|are) no (?!longer|more)\w+", "'x' is no class of a table", "'x' is not a table class"),
    Phrase(r"\bas (it|they) (is|are|was|were|comes?)\b", "An item as it is stored.", "A stored item."),
    Phrase(r"\b(None|True|False|[A-Z]\w+[a-z]) where\b", "None where the file is missing.", "None if it is missing."),
    Phrase(
        r"\bwhere (a|an|the|its|it|there|that|no) \w+ (is|are|has)\b", "where the table has items", "if it has items"
    ),
    Phrase(r"\bas far as\b", "The documents, as far as sync uses them.", "The part of the documents that sync uses."),
    Phrase(r"\bbesides?\b", "The attributes besides the keys.", "The attributes other than the keys."),
    Phrase(r"\banew\b", "Write the index anew.", "Rebuild the index."),
    Phrase(r"\b[Tt]hose that\b", "Those that are missing are left out.", "Missing items are left out."),
    Phrase(r"\bof which\b", "reads of which one is consistent", "reads, one of them consistent"),
    Phrase(r"\bin the place of\b", "exports in the place of a scan", "exports instead of a scan"),
    Phrase(r"\bnone of\b", "The value is none of those declared.", "The value is not a declared one."),
    Phrase(r"\b(is|are) told\b|\btells?\b", "The service tells no size.", "The service gives no size."),
    Phrase(r"\bSay \w+[=(]", "Say blobs=LocalBlobs(directory).", "Pass blobs=LocalBlobs(directory)."),
    Phrase(r"\bis over\b", "The lease is over.", "The lease has expired."),
    Phrase(r"\b[Hh]ow (far|many|often)\b", "How far a client has come.", "The progress of a client."),
    Phrase(r"\b(so|as) many\b", "Stop at so many bad rows.", "Stop after N bad rows."),
    Phrase(r"\bby now\b", "A content that is deleted by now.", "A deleted content."),
    Phrase(r"(?:\A|\. )(What|Those|That) (?!is\b)\w+", "What an item has of it.", "The item's part of it."),
)


@dataclass(frozen=True)
class Text:
    """A docstring, a comment or another text of the source, with its place."""

    place: str
    text: str
    is_docstring: bool = False


@cache
def _files() -> dict[str, list[Path]]:
    """The files of each package; the modules outside of packages are one. Generated twins are left out."""
    files: dict[str, list[Path]] = {}
    library = ROOT / "src" / "singletable"
    for path in modules():
        inside = path.relative_to(library).parts if path.is_relative_to(library) else path.relative_to(ROOT).parts[1:]
        if not path.with_name(f"{path.stem}_async.py").exists():
            files.setdefault(inside[0] if len(inside) > 1 else "singletable", []).append(path)
    return files


@cache
def _texts(package: str) -> list[Text]:
    return [text for path in _files()[package] for text in _texts_in(path)]


def _texts_in(path: Path) -> Iterator[Text]:
    """The texts of a file that have more than a word."""
    source, place = path.read_text(), path.relative_to(ROOT)
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield Text(f"{place}:{node.lineno}", node.value, id(node) in docstrings)
    for number, line in enumerate(source.splitlines(), 1):
        if comment := _COMMENT.search(line):
            yield Text(f"{place}:{number}", comment[1])


def _suspects(texts: list[Text]) -> list[str]:
    return [
        f"{text.place}: {match.group()!r}; as in {phrase.example!r}, better {phrase.plain!r}"
        for text in texts
        for phrase in PHRASES
        for match in re.finditer(phrase.pattern, text.text)
    ]


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.plain)
def test_a_pattern_finds_its_example(phrase: Phrase) -> None:
    assert re.search(phrase.pattern, phrase.example)
    assert not any(re.search(each.pattern, phrase.plain) for each in PHRASES)


@pytest.mark.parametrize("package", sorted(_files()))
def test_a_package_is_in_plain_words(package: str) -> None:
    texts = _texts(package)
    words = sum(len(text.text.split()) for text in texts)
    suspects = _suspects(texts)
    if package in PENDING:
        assert len(suspects) * 1000 > MOST_PER_1000_WORDS * words, f"{package} is plain: take it out of PENDING"
    else:
        assert len(suspects) * 1000 <= MOST_PER_1000_WORDS * words, "\n".join(suspects)


def test_a_docstring_begins_with_a_verb_or_a_noun() -> None:
    texts = [text for package in _files().keys() - PENDING for text in _texts(package)]
    assert [text.place for text in texts if text.is_docstring and re.match(r"\s*(Of|As|What|That)\b", text.text)] == []
