"""`python -m singletable.cli`, where the program is not on PATH."""

from singletable.cli import main

main()
