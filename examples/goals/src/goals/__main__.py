"""`python -m goals`."""

from goals.cli import main

if __name__ == "__main__":
    main(prog_name="python -m goals")
