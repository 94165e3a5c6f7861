"""`python -m tests.support.installed_program FOLDER ARGUMENT ...`: `singletable ARGUMENT ...` in a folder.

As the installed script does, it finds nothing of this checkout but the library.
"""

from __future__ import annotations

import os
import sys

from singletable.cli import main
from tools.distributions import ROOT

if __name__ == "__main__":
    if "SCAN_REQUESTS_INTO" in os.environ:  # of `pytest --scan-output`
        from tests.support.output_scan import note_own_requests

        note_own_requests()
    folder, *arguments = sys.argv[1:]
    os.chdir(folder)
    sys.path[:] = [path for path in sys.path if path not in ("", str(ROOT))]
    sys.argv = ["singletable", *arguments]
    main()
