"""`python -m organisations`."""

from organisations.cli import main

if __name__ == "__main__":
    main(prog_name="python -m organisations")
