"""`python -m examples.manhunt`."""

from examples.manhunt.cli import main

if __name__ == "__main__":
    main(prog_name="python -m examples.manhunt")
