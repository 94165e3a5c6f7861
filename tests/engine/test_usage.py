"""What the type checkers take runs too."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

USAGE = Path(__file__).parents[1] / "typing" / "usage.py"


@pytest.mark.embedded("the file that it runs connects to it")
def test_usage_runs() -> None:
    runpy.run_path(str(USAGE), run_name="__main__")
