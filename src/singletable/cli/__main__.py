"""`python -m singletable.cli`, if the program is not on PATH."""

import sys

if not sys.flags.safe_path:
    sys.path.append(sys.path.pop(0))  # Python puts the current directory first; see `lookup.reach`

from singletable.cli import main

main()
