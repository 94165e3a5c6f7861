"""`python -m tests.support.called MODULE FUNCTION ARGUMENT...`: call a function with texts."""

import gc
import os
import sys
from importlib import import_module

if __name__ == "__main__":
    gc.disable()
    if "SCAN_REQUESTS_INTO" in os.environ:  # of `pytest --scan-output`
        from tests.support.output_scan import note_own_requests

        note_own_requests()
    work = getattr(import_module(sys.argv[1]), sys.argv[2])
    gc.freeze()  # or each child goes through all modules at its end
    gc.enable()
    work(*sys.argv[3:])
