"""`python -m manhunt`."""

from manhunt.cli import main

if __name__ == "__main__":
    main(prog_name="python -m manhunt")
