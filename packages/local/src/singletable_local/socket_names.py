"""The names of the supervisor's two sockets in the engine's directory. Imports nothing: the supervisor loads it."""

ENGINE_SOCKET = "engine.sock"
"""Each client that connects here receives a connection to the engine."""
HOLDERS_SOCKET = "holders.sock"
"""Each process that connects here holds the engine for as long as the connection is open."""
DATA_LINK = "data"
"""A symbolic link to the data file; a private engine has none."""
