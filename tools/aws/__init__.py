"""The engine suites on an AWS account, or on an emulator of one: at a known cost, with nothing left behind.

    python -m tools.aws run --endpoint http://127.0.0.1:4566

The tests talk to a `gateway` on loopback. It gives each table, queue and bucket a name of this run, signs the requests
anew and hands them on, counts what they cost, and writes the answers down as cassettes. The tests and the library know
nothing of it. `replay` is the same address without an account behind it.
"""
