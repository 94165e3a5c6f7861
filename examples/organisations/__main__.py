"""`python -m examples.organisations`."""

from examples.organisations.cli import main

if __name__ == "__main__":
    main(prog_name="python -m examples.organisations")
