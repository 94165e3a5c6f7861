"""Where the engine is looked for."""

from __future__ import annotations

import stat
import sys
import zipfile
from pathlib import Path

import pytest

from singletable import connect
from singletable.errors import NotConfigured
from singletable_local import ENGINE_VERSION, engine_package, find_engine
from singletable_local.binary import find_emulator, no_file


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return path


def in_node_modules(directory: Path) -> Path:
    return program(directory / "node_modules" / engine_package() / "dynoxide")


def on_path(directory: Path) -> dict[str, str]:
    return {"PATH": str(program(directory / "bin" / "dynoxide").parent)}


@pytest.fixture(autouse=True)
def without_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where these tests run, the engine's wheel may be installed."""
    monkeypatch.setitem(sys.modules, "singletable_engine", None)


def test_the_variable_comes_first(tmp_path: Path) -> None:
    in_node_modules(tmp_path)
    named = program(tmp_path / "mine")
    assert find_engine({"SINGLETABLE_ENGINE": str(named), **on_path(tmp_path)}, tmp_path) == named


def test_the_variable_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    assert find_engine({"SINGLETABLE_ENGINE": "mine"}) == tmp_path / "mine"


def test_node_modules_comes_before_path(tmp_path: Path) -> None:
    assert find_engine(on_path(tmp_path), tmp_path) != in_node_modules(tmp_path)
    assert find_engine(on_path(tmp_path), tmp_path) == in_node_modules(tmp_path)


def test_the_nearest_node_modules_wins(tmp_path: Path) -> None:
    in_node_modules(tmp_path)
    deep = tmp_path / "a" / "b"
    near = in_node_modules(tmp_path / "a")
    deep.mkdir()
    assert find_engine({"PATH": ""}, deep) == near


def test_path_comes_last(tmp_path: Path) -> None:
    environ = on_path(tmp_path)
    assert find_engine(environ, tmp_path) == tmp_path / "bin" / "dynoxide"


def test_a_missing_engine_names_the_places_searched_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured) as caught:
        find_engine({"PATH": str(tmp_path)}, tmp_path)
    text = str(caught.value)
    assert "SINGLETABLE_ENGINE is not set" in text
    assert f"node_modules/{engine_package()}/dynoxide is neither in {tmp_path} nor in a parent of it" in text
    assert "dynoxide is not on PATH" in text
    assert "has no package singletable-engine" in text
    assert "Run `pip install 'singletable[local]'`, or set SINGLETABLE_ENGINE" in text


def test_where_there_is_no_wheel_the_error_names_npm_s_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    with pytest.raises(
        NotConfigured,
        match=rf"\[local\]'` for an engine in memory, or `npm install @dynoxide/darwin-arm64@{ENGINE_VERSION}`",
    ):
        find_engine({"PATH": str(tmp_path)}, tmp_path)


def test_the_wheel_s_comes_before_node_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "singletable_engine")
    in_node_modules(tmp_path)
    (tmp_path / "site" / "singletable_engine").mkdir(parents=True)
    (tmp_path / "site" / "singletable_engine" / "__init__.py").touch()
    of_wheel = program(tmp_path / "site" / "singletable_engine" / "dynoxide")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert find_engine(on_path(tmp_path), tmp_path) == of_wheel
    assert "singletable_engine" not in sys.modules


def test_a_wheel_in_an_archive_is_copied_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "singletable_engine")
    archive = tmp_path / "app.pyz"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("singletable_engine/__init__.py", "")
        made.writestr("singletable_engine/dynoxide", "#!/bin/sh\n")
    monkeypatch.syspath_prepend(archive)
    environ = {"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    found = find_engine(environ, tmp_path)
    assert found.is_relative_to(tmp_path / "cache" / "singletable")
    assert (found.read_text(), stat.S_IMODE(found.stat().st_mode)) == ("#!/bin/sh\n", 0o700)
    first = found.stat().st_mtime_ns
    assert find_engine(environ, tmp_path).stat().st_mtime_ns == first
    assert [path.name for path in found.parent.iterdir()] == ["dynoxide"]


def test_a_file_that_cant_be_run_is_no_engine(tmp_path: Path) -> None:
    in_node_modules(tmp_path).chmod(0o644)
    with pytest.raises(NotConfigured):
        find_engine({"PATH": ""}, tmp_path)


def test_a_wrong_variable_is_named_and_nothing_else_is_tried(tmp_path: Path) -> None:
    in_node_modules(tmp_path)
    with pytest.raises(NotConfigured, match=r"SINGLETABLE_ENGINE is '.*nothing', which is not an executable file"):
        find_engine({"SINGLETABLE_ENGINE": str(tmp_path / "nothing")}, tmp_path)


@pytest.mark.parametrize("target", ["local", "local:data.db", "unix:///run/engine.sock"])
def test_without_the_distribution_the_error_says_what_to_install(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "singletable_local", None)
    with pytest.raises(NotConfigured, match=r'singletable-local is missing.*pip install "singletable\[local\]"'):
        connect(target)


def test_a_fault_within_the_distribution_is_not_taken_for_its_absence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "singletable_local.targets", raising=False)
    monkeypatch.delattr("singletable_local.targets", raising=False)
    monkeypatch.setitem(sys.modules, "singletable_local.data_wipe", None)
    with pytest.raises(ModuleNotFoundError, match="data_wipe"):
        connect("local")


@pytest.mark.parametrize(
    ("system", "machine", "package"),
    [
        ("linux", "x86_64", "@dynoxide/linux-x64"),
        ("linux", "aarch64", "@dynoxide/linux-arm64"),
        ("darwin", "arm64", "@dynoxide/darwin-arm64"),
        ("linux", "riscv64", "@dynoxide/linux-riscv64"),
    ],
)
def test_the_package_is_named_for_the_machine(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, package: str
) -> None:
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert engine_package() == package


@pytest.fixture
def emulator(tmp_path: Path) -> Path:
    """A folder as that of the engine in Python's wheel."""
    (tmp_path / "site" / "singletable_engine_python" / "emulator" / "ministack").mkdir(parents=True)
    (tmp_path / "site" / "singletable_engine_python" / "__init__.py").touch()
    return tmp_path / "site" / "singletable_engine_python" / "emulator"


def test_the_engine_in_python_is_taken_where_there_is_no_binary(
    emulator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_emulator({"PATH": ""}) is None
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert find_emulator({"PATH": ""}) == emulator
    assert find_emulator(on_path(tmp_path)) is None
    assert find_emulator({**on_path(tmp_path), "SINGLETABLE_ENGINE": "python"}) == emulator
    assert find_emulator({**on_path(tmp_path), "SINGLETABLE_ENGINE": str(emulator)}) == emulator
    assert find_emulator({"SINGLETABLE_ENGINE": str(program(tmp_path / "mine"))}) is None


def test_the_engine_in_python_that_is_asked_for_and_missing_is_named() -> None:
    with pytest.raises(NotConfigured, match=r"no package singletable-engine-python\. Run `pip install singletable-eng"):
        find_emulator({"SINGLETABLE_ENGINE": "python"})


@pytest.mark.parametrize("named", ["python", "folder"])
def test_the_engine_in_python_is_not_taken_for_a_binary(named: str, emulator: Path) -> None:
    with pytest.raises(NotConfigured, match="chooses the engine in Python, which has no file"):
        find_engine({"SINGLETABLE_ENGINE": named.replace("folder", str(emulator))})


def test_elsewhere_than_on_posix_the_binary_is_not_looked_for(
    emulator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path / "site")
    environ = on_path(tmp_path)
    monkeypatch.setattr("singletable_local.binary.IS_POSIX", False)
    assert find_emulator(environ) == emulator
    assert find_emulator({"SINGLETABLE_ENGINE": str(tmp_path / "bin" / "dynoxide")}) == emulator
    monkeypatch.setitem(sys.modules, "singletable_engine_python", None)
    with pytest.raises(NotConfigured, match="no package singletable-engine-python"):
        connect("local")
    assert "WSL" in str(no_file("local:a.db"))
    with pytest.raises(NotConfigured, match="Linux and macOS only"):
        connect("unix:///run/engine.sock")
