"""`python -m singletable.cli`, where the program itself is not on PATH."""

from singletable.cli import main

main()
