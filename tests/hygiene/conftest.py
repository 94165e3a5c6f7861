from tests.faults.fixtures import clock, engine_url, faults, kind, proxy, pytest_runtest_makereport

__all__ = ["clock", "engine_url", "faults", "kind", "proxy", "pytest_runtest_makereport"]
