"""The command line, `singletable`: the same words as the API, over the same declarations.

Begin with `app`, the group of commands, and `session`, which they share. `lookup` finds your tables and patterns,
`arguments` parses their arguments, `output` prints results. Click and rich come with the extra `singletable[cli]`; a
program that only uses the library imports neither.

A command of another distribution is a click command with an entry point in the group `singletable.commands`. The names
here are for such commands.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.cli import output as output
    from singletable.cli.lookup import module_of as module_of, pattern_of as pattern_of, tables_of as tables_of
    from singletable.cli.session import (
        DEFAULT_FILE as DEFAULT_FILE,
        Session as Session,
        options_anywhere as options_anywhere,
        session_of as session_of,
    )


__getattr__ = late_names(
    __name__,
    lookup="module_of pattern_of tables_of",
    session="DEFAULT_FILE Session options_anywhere session_of",
)

_NEEDED = ("click", "rich")


def main() -> None:
    """The program `singletable`. Its imports before a command stay to the end: the collector never looks at them."""
    gc.disable()
    try:
        from singletable.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        sys.exit(f"The command line needs {error.name}. Run: python -m pip install 'singletable[cli]'")
    gc.freeze()
    gc.enable()
    app(prog_name="singletable")
