"""`python -m examples.goals`."""

from examples.goals.cli import main

if __name__ == "__main__":
    main(prog_name="python -m examples.goals")
