from tests.unit.wire.conftest import client, clock, server

__all__ = ["client", "clock", "server"]
