"""What the library reads is data: no module of it can turn what it reads into a call."""

from __future__ import annotations

import ast

import pytest

from tools.distributions import modules

FORBIDDEN = frozenset({"pickle", "marshal", "shelve", "yaml", "dill", "cPickle"})


def suspicious(text: str) -> list[str]:
    """Modules that a text imports, and shells that it starts. (Each `eval` is looked at by the linter, S307.)"""
    found: list[str] = []
    if not any(word in text for word in (*FORBIDDEN, "shell")):
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name.partition(".")[0] in FORBIDDEN]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in FORBIDDEN:
            found.append(str(node.module))
        elif isinstance(node, ast.keyword) and node.arg == "shell":
            found.append("shell=")
    return found


@pytest.mark.parametrize("text", ["import pickle", "from yaml import load", "run(line, shell=True)"])
def test_each_form_is_seen(text: str) -> None:
    assert suspicious(text)


def test_nothing_that_is_read_can_run() -> None:
    files = modules()
    assert len(files) > 200
    assert {str(file): found for file in files if (found := suspicious(file.read_text()))} == {}
