"""`python -m examples.projects`."""

from examples.projects.cli import main

if __name__ == "__main__":
    main(prog_name="python -m examples.projects")
