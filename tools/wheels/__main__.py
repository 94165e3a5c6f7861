"""Builds what is installed: the distributions' wheels, and the engine's from what npm and PyPI serve. `make wheels`.

    python -m tools.wheels                            into dist: all, and the engine for every platform
    python -m tools.wheels --out here linux-x64       the engine for one platform
    python -m tools.wheels --out here python          the engine in Python, for all others

The binary's archive is fetched by `npm pack`, ministack's wheel by `pip download`; each is compared with its pinned
checksum before it is unpacked.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from singletable.version import VERSION
from tools.distributions import FOLDERS, ROOT
from tools.wheels import emulator
from tools.wheels.platforms import PLATFORMS, VERSION as ENGINE_VERSION, Platform

MEMBER = "package/dynoxide"
IN_PYTHON = "python"
NAMES = (*PLATFORMS, IN_PYTHON)


def fetch(platform: Platform, folder: Path) -> Path:
    """The engine's binary, from the registry. SystemExit where the archive is another than the pinned one."""
    asked = ["npm", "pack", "--silent", "--pack-destination", str(folder), f"{platform.package}@{ENGINE_VERSION}"]
    packed = subprocess.run(asked, capture_output=True, text=True, check=False)
    if packed.returncode:
        raise SystemExit(f"{platform.package}@{ENGINE_VERSION} can't be had from npm:\n{packed.stderr.strip()}")
    archive = folder / packed.stdout.strip().splitlines()[-1]
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != platform.integrity:
        raise SystemExit(
            f"{platform.package}@{ENGINE_VERSION}: the archive's SHA-512 is {found}, pinned is {platform.integrity}.\n"
            "Nothing was built. Where the registry's package changed on purpose, look at it, then pin it anew."
        )
    return _unpacked(archive, folder)


def _unpacked(archive: Path, folder: Path) -> Path:
    binary = folder / "dynoxide"
    with tarfile.open(archive) as tar:
        member = tar.extractfile(MEMBER)
        if member is None:
            raise SystemExit(f"{archive.name} holds no file {MEMBER}")
        binary.write_bytes(member.read())
    binary.chmod(0o755)
    return binary


def engine(platform: Platform, out: Path) -> Path:
    """The engine's wheel for a platform."""
    with tempfile.TemporaryDirectory() as folder:
        binary = fetch(platform, Path(folder))
        # Read by packages/engine/wheel_hook.py.
        _build(
            ROOT / "packages" / "engine",
            out,
            {"SINGLETABLE_ENGINE_BINARY": str(binary), "SINGLETABLE_ENGINE_TAG": platform.tag},
        )
    return out / f"singletable_engine-{ENGINE_VERSION}-{platform.tag}.whl"


def engine_in_python(out: Path) -> Path:
    """The wheel of the engine in Python, for every platform."""
    with tempfile.TemporaryDirectory() as folder:
        modules = emulator.fetch(Path(folder))
        # Read by packages/engine_python/wheel_hook.py.
        _build(ROOT / "packages" / "engine_python", out, {"SINGLETABLE_ENGINE_EMULATOR": str(modules)})
    return out / f"singletable_engine_python-{emulator.VERSION}-py3-none-any.whl"


def engines(out: Path, names: Iterable[str] = NAMES) -> list[Path]:
    """The engine's wheels, by the names of platforms; by default all."""
    return [engine_in_python(out) if name == IN_PYTHON else engine(PLATFORMS[name], out) for name in names]


def wheel(distribution: Path, out: Path) -> Path:
    """The wheel of one distribution of this checkout, by its folder."""
    _build(distribution, out, {})
    name = "singletable" if distribution == ROOT else f"singletable_{distribution.name}"
    return out / f"{name}-{VERSION}-py3-none-any.whl"


def wheels(out: Path) -> list[Path]:
    """The wheels of all distributions of this checkout."""
    return [wheel(folder, out) for folder in FOLDERS]


def source(out: Path) -> Path:
    """The library's sdist."""
    _build(ROOT, out, {}, "sdist")
    return max(out.glob("singletable-*.tar.gz"), key=lambda path: path.stat().st_mtime)


def _build(project: Path, out: Path, variables: dict[str, str], target: str = "wheel") -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(out.resolve())]
    subprocess.run(command, cwd=project, env={**os.environ, **variables}, check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("platforms", nargs="*", metavar="PLATFORM", help=f"{', '.join(NAMES)}; default: all")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="the wheels' folder; default: dist")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.platforms) - set(NAMES)):
        parser.error(f"no such platform: {', '.join(unknown)}; there are {', '.join(NAMES)}")
    built = [] if asked.platforms else wheels(asked.out)
    built += engines(asked.out, asked.platforms or NAMES)
    for path in built:
        sys.stdout.write(f"{path}: {path.stat().st_size / 1e6:.1f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
