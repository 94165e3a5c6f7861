"""What the library reads is data: no module of it can turn what it reads into a call."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.sources import SRC

FORBIDDEN = frozenset({"pickle", "marshal", "shelve", "yaml", "dill", "cPickle"})


def suspicious(text: str) -> list[str]:
    """Modules that a text imports, and shells that it starts. (Each `eval` is looked at by the linter, S307.)"""
    found: list[str] = []
    if not any(word in text for word in (*FORBIDDEN, "shell")):
        return found
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names if each.name.partition(".")[0] in FORBIDDEN]
            found += [name for name in names if name != "pickle" or not _only_writes(tree)]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in FORBIDDEN:
            found.append(str(node.module))
        elif isinstance(node, ast.keyword) and node.arg == "shell":
            found.append("shell=")
    return found


def _only_writes(tree: ast.AST) -> bool:
    """Whether all that is taken of pickle is `dumps`, which reads nothing."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "pickle"]
    uses = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.value in names]
    return uses == ["dumps"] * len(names) != []


SEEN = (
    "import pickle",
    "import pickle\npickle.dumps(x)\npickle.loads(y)",
    "import pickle\npickle.dumps(x)\nread = pickle",
    "from yaml import load",
    "run(line, shell=True)",
)


@pytest.mark.parametrize("text", SEEN)
def test_each_form_is_seen(text: str) -> None:
    assert suspicious(text)


def test_what_only_writes_is_none() -> None:
    assert suspicious("import pickle\npickle.dumps(x)") == []


def test_nothing_that_is_read_can_run() -> None:
    files = sorted((SRC / "singletable").rglob("*.py"))
    assert len(files) > 200
    assert {str(file): found for file in files if (found := suspicious(file.read_text()))} == {}
