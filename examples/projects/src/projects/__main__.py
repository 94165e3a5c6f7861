"""`python -m projects`."""

from projects.cli import main

if __name__ == "__main__":
    main(prog_name="python -m projects")
