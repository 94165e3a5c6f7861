"""Mutation testing: small changes to the library's code, each of which some test should notice.

    python -m tools.mutants map                         # which test runs which lines: once, as long as all tests take
    python -m tools.mutants run --sample 30 --seed 7    # each mutant against the tests that run its lines
    python -m tools.mutants list src/singletable/records/proof.py

`verdicts.toml` has the mutants that no test can notice, each with the reason. A run exits with 1 where a mutant
survived that is not in it.
"""
