"""`pytest --engine NAME`: which engine the tests run on, and what of it is known to be otherwise.

* `--engine local|ministack|moto|dynalite|aws|replay|URL|LIST=URL`: without it, the embedded one. Given more than
  once, each test that takes a database runs on each of them. `replay` is `tests/support/replay_engine.py`.
* `@pytest.mark.embedded("why")`: the test needs the embedded engine's file, process or door, and is skipped elsewhere.
* `tests/engines/expected/NAME.toml`, or `LIST.toml` for `LIST=URL`: the tests that fail on that engine, by cause. A
  test fails that is not in the list and fails, and so does one that is in the list and passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

from singletable_local import ENGINE_VARIABLE, Engine
from tests.engines.differences import Difference, Differences, read_differences
from tests.support import replay_engine
from tests.support.engines import LOCAL, NAMES, end_engines, engine, use_engine

MARK = "embedded"
NOWHERE = "/nowhere/no embedded engine under another --engine"
_PARAMETER = "engine_under_test"
_GUARD = "no_engine"
_EXPECTED = pytest.StashKey[Difference]()
_SETTLED = pytest.StashKey[bool]()
_UNAWAITED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""What a test that fails leaves unawaited is told in the next one."""
_LISTS = pytest.StashKey[dict[str, Differences]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        action="append",
        default=[],
        metavar="NAME",
        help=f"the engine to test: {', '.join(NAMES)}, replay or an address; may be repeated",
    )


def engine_names(config: pytest.Config) -> list[str]:
    return list(config.getoption("--engine")) or [LOCAL]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(reason): needs the embedded engine itself, not only a DynamoDB")
    config.option.engine = [
        replay_engine.begin(config, name) if replay_engine.is_replay(name) else name for name in engine_names(config)
    ]
    if engine_names(config) != [LOCAL]:
        _stop_at_the_first_failure()
    config.stash[_LISTS] = {name: read_differences(name) for name in engine_names(config)}


def _stop_at_the_first_failure() -> None:
    """A difference that is expected is not made smaller: that would take minutes."""
    name = "first failure"
    kept = [phase for phase in settings().phases if phase is not Phase.shrink]
    settings.register_profile(name, settings(), phases=kept, report_multiple_bugs=False)
    settings.load_profile(name)


def pytest_unconfigure() -> None:
    end_engines()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With several engines, each is in the test's id; tests that have no engine run once."""
    names = engine_names(metafunc.config)
    if len(names) > 1 and _GUARD not in metafunc.fixturenames:
        metafunc.parametrize(_PARAMETER, names, indirect=True, scope="session", ids=[f"on={name}" for name in names])


@pytest.fixture(scope="session", autouse=True)
def engine_under_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """The engine that `fresh()` takes; under another than the embedded one, nobody starts that."""
    use_engine(getattr(request, "param", engine_names(request.config)[0]))
    with pytest.MonkeyPatch.context() as patch:
        if not engine().is_embedded:
            patch.setenv(ENGINE_VARIABLE, NOWHERE)
            patch.setattr(Engine, "start", _refuse)
        yield
    use_engine(LOCAL)


def _refuse(*_: Any, **__: Any) -> Any:
    pytest.fail(
        f'it starts the embedded engine under --engine {engine().name}: take fresh(), or @pytest.mark.{MARK}("why")'
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        name = _name_of(item)
        if name == LOCAL:
            continue
        item.add_marker(_UNAWAITED)
        marker = item.get_closest_marker(MARK)
        if marker is not None:
            item.add_marker(pytest.mark.skip(reason=f"the embedded engine only: {marker.args[0]}"))
        difference = config.stash[_LISTS][name].difference_of(_plain_id(item))
        if difference is not None:
            item.stash[_EXPECTED] = difference
    _refuse_unused(config, items)


def _refuse_unused(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What the list names is there, wherever whole files are collected."""
    chosen = config.option.keyword or config.option.markexpr not in ("", "not soak")
    if chosen or any("::" in argument for argument in config.args):
        return
    for name, differences in config.stash[_LISTS].items():
        unused = differences.unused({_plain_id(item) for item in items if _name_of(item) == name})
        if unused:
            raise pytest.UsageError(f"no such test, though the list of {name} names it: {', '.join(unused)}")


def mark_folder(items: list[pytest.Item], folder: Path, reason: str) -> None:
    """Mark every test below a folder as one of the embedded engine; for `pytest_collection_modifyitems`."""
    for item in items:
        if item.path.is_relative_to(folder):
            item.add_marker(pytest.mark.embedded(reason))


def _name_of(item: pytest.Item) -> str:
    parameters = getattr(item, "callspec", None)
    named = parameters.params.get(_PARAMETER) if parameters is not None else None
    return named or engine_names(item.config)[0]


def _plain_id(item: pytest.Item) -> str:
    """The test's id without its engine's."""
    name = f"on={_name_of(item)}"
    return item.nodeid.replace(f"[{name}]", "").replace(f"{name}-", "").replace(f"-{name}]", "]")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """A failure that is in the list is expected, in whatever phase; a test of the list that has none fails."""
    report: pytest.TestReport = yield
    expected = item.stash.get(_EXPECTED, None)
    if expected is None:
        return report
    if report.failed:
        report.outcome, report.wasxfail = "skipped", expected.cause
    if report.skipped:
        item.stash[_SETTLED] = True
    elif report.when == "teardown" and not item.stash.get(_SETTLED, False) and not expected.sometimes:
        report.outcome = "failed"
        passes = f"it passes on {_name_of(item)}: take it out of the list."
        report.longrepr = f"{passes} It was expected to fail: {expected.cause}"
    return report
