from tests.support.no_engine import no_engine

__all__ = ["no_engine"]
