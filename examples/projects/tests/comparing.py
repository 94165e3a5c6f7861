"""A project's versions against the commits that they are made of, as git tells those."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from examples.projects.tests.gitted import Tree, run_git
from projects.files import File
from projects.model import Repository
from projects.names import path_of
from singletable.documents import Documents


def assert_same_history(documents: Documents[Repository], project: str, repository: Path, ids: Sequence[str]) -> None:
    """Version n is the n-th commit: path by path the same mode and bytes. Each content is read once."""
    contents: dict[str, File] = {}
    blob = cache(lambda object_id: run_git(repository, "cat-file", "blob", object_id))
    for number, id in enumerate(ids, 1):
        version = documents.at(project, version=number)
        hashes = {item: version.files.hash_of(item) for item in version.files}
        new = {sha256: item for item, sha256 in hashes.items() if sha256 not in contents}
        read = documents.load(version.files, list(new.values()))
        contents |= {sha256: read[item] for sha256, item in new.items()}
        files = {path_of(item): contents[sha256] for item, sha256 in hashes.items()}
        expected = {
            path: (mode, object_id.encode() if kind == "commit" else blob(object_id))
            for path, mode, kind, object_id in listed(repository, id)
        }
        assert version.commit == id
        assert {path: (file.mode, file.content) for path, file in files.items()} == expected


def tree_of_version(documents: Documents[Repository], project: str, number: int) -> Tree:
    files = documents.at(project, version=number).files.all()
    return {path_of(item): (file.mode, file.content) for item, file in files.items()}


def listed(repository: Path, commit: str) -> list[tuple[bytes, str, str, str]]:
    """(path, mode, kind, object id) of a commit's tree."""
    entries = [line.partition(b"\t") for line in run_git(repository, "ls-tree", "-rz", commit).split(b"\0") if line]
    return [(path, *_three(said)) for said, _, path in entries]


def _three(said: bytes) -> tuple[str, str, str]:
    mode, kind, object_id = said.decode().split(" ")
    return mode, kind, object_id
