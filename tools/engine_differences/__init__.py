"""How the embedded engine differs from AWS, by a test suite of others that passes on AWS.

    python -m tools.engine_differences run CHECKOUT         # writes docs/reference/engine-differences.toml
    python -m tools.engine_differences compare CHECKOUT     # ends with 1 where the engine does otherwise than the table

CHECKOUT is a clone of https://github.com/scylladb/scylladb, or its git directory. Only `test/alternator` is used, at
the commit that is checked out. The suite is not ours: it is copied into a temporary folder for the run, with the files
of `beside` in place of what it imports from the rest of that repository. The table has names of tests and outcomes, and
our own words on their causes; nothing else of the suite is kept.
"""
