"""`python -m examples_demo`."""

from examples_demo.program import main

if __name__ == "__main__":
    main(prog_name="python -m examples_demo")
