"""What the studio's pages show of the layers, as frozen values.

Nothing here knows HTTP: each view is a flow over a port. Every list has a limit and a cursor, and the docstring of each
flow says what it costs.
"""
