"""Files of src: no cycle of imports, no name that is a participle, nothing that is written twice."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.sources import Source, closes_a_cycle, cycles, import_graph, shared, sources

MOST_SHARED_LINES = 12

TYPE_CYCLES = {
    ("singletable.schema.patterns", "singletable.schema.models"): "a key carries its model, which makes keys",
    ("singletable.schema.table", "singletable.schema.models"): "a table lists its models, which name their table",
}
"""Imports for types only that close a cycle, with the reason: two at most."""

NAMED_ALL_THE_SAME = {
    "singletable_local.polling": "the field's noun for asking again until there is an answer",
}
"""Modules whose name ends in -ing, with the reason."""


def test_files_import_each_other_in_no_cycle() -> None:
    runs, types = import_graph(sources())
    assert cycles(runs) == []
    assert cycles((runs | types) - set(TYPE_CYCLES)) == []
    for edge in TYPE_CYCLES:
        assert edge in types
        assert closes_a_cycle(edge, runs | types), f"{edge} closes no cycle any more: take it off the list"


def test_two_cycles_of_types_at_most() -> None:
    assert len(TYPE_CYCLES) <= 2


def test_a_module_is_named_by_a_noun() -> None:
    found = {file.module for file in sources() if file.module.endswith("ing")}
    assert found == set(NAMED_ALL_THE_SAME)


def test_nothing_is_written_twice() -> None:
    found = shared([file for file in sources() if not file.is_generated], MOST_SHARED_LINES)
    assert [str(pair) for pair in found] == []


@pytest.mark.parametrize(
    "text",
    [
        "import p.b",
        "from p import b",
        "from p.b import name",
        "from . import b",
        "from .b import name",
        "def f():\n    from p import b",
        "if TYPE_CHECKING:\n    from p import b",
    ],
)
def test_each_form_of_an_import_is_seen(text: str) -> None:
    package = "singletable" if "singletable" in text else "p"
    files = [Source(f"{package}.a", text), Source(f"{package}.b", f"import {package}.a")]
    runs, types = import_graph(files)
    assert cycles(runs | types) == [[f"{package}.a", f"{package}.b"]]
    assert bool(types) == ("TYPE_CHECKING" in text)


def lines(count: int, form: str = "x{0} = y.f({0})") -> str:
    return "\n".join(form.format(number) for number in range(count))


@pytest.mark.parametrize(
    "text",
    [
        lines(13),
        "import os\n\n\n" + lines(13),
        lines(13).replace("\n", "\n\n# a remark\n"),
        '"""A docstring."""\n' + lines(13) + "\nmore = 1",
        "async def f():\n" + lines(13, "    x{0} = await y.f({0})"),
    ],
)
def test_lines_that_are_shared_are_seen(text: str) -> None:
    (found,) = shared([Source("a", lines(13)), Source("b", text)], 12)
    assert found.lines == 13
    assert shared([Source("a", lines(13)), Source("b", text)], 13) == []


def test_a_file_may_share_with_itself() -> None:
    assert [str(pair) for pair in shared([Source("a", f"{lines(13)}\nbetween = 1\n{lines(13)}")], 12)] == [
        "a:1 and a:15 share 13 lines"
    ]


def test_only_events_write_to_the_log() -> None:
    """What happens is an event, which listeners hear too; a module that logged by itself would pass them by."""
    loggers: set[str] = set()
    for source in sources():
        for node in ast.walk(source.tree):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.partition(".")[0] == "logging" for name in names):
                loggers.add(source.module)
    assert loggers == {"singletable.events.log", "singletable.events.listeners"}
