"""Without the extra: a clear error says what to install, and what needs none of it works. In processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

MISSING = "import sys; sys.modules.update(dict.fromkeys(['duckdb', 'plotext', 'pyarrow', 'obstore']))\n"


def ran(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MISSING + code], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("name", ["open_export", "open_live", "drawing_of"])
def test_what_is_missing_is_named(name: str) -> None:
    found = ran(f"from singletable.reports import {name}")
    assert found.returncode == 1
    assert "pip install 'singletable[reports]'" in found.stderr


def test_the_shape_of_a_table_needs_none_of_it() -> None:
    found = ran("from singletable.reports import AsyncStats, Stats, TableShape, svg_of")
    assert (found.returncode, found.stderr) == (0, "")


def test_the_program_loads_none_of_it() -> None:
    names = "['duckdb', 'plotext', 'pyarrow', 'obstore', 'polars', 'pandas']"
    load = "from singletable.cli.app import COMMANDS; COMMANDS.all()"
    code = f"import sys; {load}; sys.exit(str([n for n in {names} if n in sys.modules]))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert found.stderr.strip() == "[]"
