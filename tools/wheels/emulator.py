"""The modules of ministack that are the engine in Python, from the wheel that PyPI serves."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

VERSION = "1.5.33"
SHA256 = "36f9158cbe7eb7a3f910ccf1c052c98204511164249b783682f7a96ef56b0bba"
"""Of ministack's wheel."""
MODULES = (
    "__init__.py",
    "core/__init__.py",
    "core/arn.py",
    "core/concurrency.py",
    "core/responses.py",
    "services/__init__.py",
    "services/_dynamodb_keywords.py",
    "services/dynamodb.py",
    "services/dynamodb_streams.py",
)
"""Those that DynamoDB and its streams import at their top: with the standard library they are complete."""
_LICENCE = f"ministack-{VERSION}.dist-info/licenses/LICENSE"


def fetch(folder: Path) -> Path:
    """A folder with the package `ministack`. SystemExit where the wheel is another than the pinned one."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"ministack=={VERSION} --hash=sha256:{SHA256}\n")
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), "--requirement", str(wanted)]
    fetched = subprocess.run(command, capture_output=True, text=True, check=False)
    if fetched.returncode:
        raise SystemExit(f"ministack {VERSION} can't be had from PyPI:\n{fetched.stderr.strip()}")
    (wheel,) = folder.glob("ministack-*.whl")
    return unpack(wheel, folder / "emulator")


def unpack(wheel: Path, folder: Path) -> Path:
    """The folder, with the package's modules and its licence."""
    with zipfile.ZipFile(wheel) as packed:
        members = {f"ministack/{name}": name for name in MODULES} | {_LICENCE: "LICENSE"}
        for member, name in members.items():
            target = folder / "ministack" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(packed.read(member))
    return folder
