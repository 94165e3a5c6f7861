"""Builds what is installed: the distributions' wheels, and the engine's from what npm serves. `make wheels`.

    python -m tools.wheels                            into dist: all, and the engine for every platform
    python -m tools.wheels --out here linux-x64       the engine for one platform

The engine's archive is fetched by `npm pack` and compared with its pinned checksum before it is unpacked.
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
from pathlib import Path

from singletable.version import VERSION
from tools.distributions import FOLDERS, ROOT
from tools.wheels.platforms import PLATFORMS, VERSION as ENGINE_VERSION, Platform

MEMBER = "package/dynoxide"


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
    parser.add_argument("platforms", nargs="*", metavar="PLATFORM", help=f"{', '.join(PLATFORMS)}; default: all")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="the wheels' folder; default: dist")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.platforms) - set(PLATFORMS)):
        parser.error(f"no such platform: {', '.join(unknown)}; there are {', '.join(PLATFORMS)}")
    built = [] if asked.platforms else wheels(asked.out)
    built += [engine(PLATFORMS[name], asked.out) for name in asked.platforms or PLATFORMS]
    for path in built:
        sys.stdout.write(f"{path}: {path.stat().st_size / 1e6:.1f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
