"""`make release`: everything up to the upload, which a person does.

    python -m tools.release                 into dist/release: sdist, wheels, the site, an SBOM, checksums
    python -m tools.release --out here

What it makes is installed into an empty environment of each Python at hand, without npm and without a compiler, and the
tutorial's program runs there.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from singletable_local import find_engine
from tools.distributions import APPLICATIONS, PYTHONPATH, ROOT
from tools.pythons import Python, pythons
from tools.release.alone import TESTS, try_alone, try_application
from tools.release.environments import bare, install
from tools.site import __main__ as site_builder
from tools.wheels.__main__ import engines, source, wheels

TUTORIAL = ROOT / "docs" / "tutorial" / "first_table.py"
TOOLS = ROOT / ".venv-tools" / "bin"
SUMS = "SHA256SUMS"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.release", description="Everything up to the upload.")
    parser.add_argument("--out", type=Path, default=Path("dist/release"), help="an empty folder; default: dist/release")
    out: Path = parser.parse_args().out.resolve()
    if out.exists() and any(out.iterdir()):
        parser.error(f"{out} is not empty: an old file would be summed with the new ones")
    try_with_previous()
    say("programs of the release before work on one table with this one's")
    made = build(out)
    for path in made:
        say(f"built {path.name}: {path.stat().st_size / 1e6:.2f} MB")
    subprocess.run([TOOLS / "twine", "check", "--strict", *made], check=True)
    expected = tutorial(sys.executable, ROOT, {"PYTHONPATH": PYTHONPATH})
    with tempfile.TemporaryDirectory() as folder:
        environments = {python: Path(folder, python.name) for python in pythons()}
        for python, environment in environments.items():
            try_out(python, environment, out, expected)
            say(f"the tutorial runs on Python {python.version}")
        write_bill(next(iter(environments.values())), out)
        for distribution in TESTS:
            try_alone(next(iter(environments)), Path(folder, distribution), out, distribution)
            say(f"singletable-{distribution} passes its tests alone")
        for application in APPLICATIONS:
            try_application(next(iter(environments)), Path(folder, application), out, application)
            say(f"examples/{application} starts after one install")
    say(f"built {documentation(out).name}: it opens from a disk")
    sums = write_sums(out)
    say(f"{sums.name}: {len(sums.read_text().splitlines())} files. Nothing was uploaded.")
    if is_without_address():
        say("No address is set: [tool.hatch.metadata.hooks.custom] of pyproject.toml. Don't upload this.")
    return 0


def try_with_previous() -> None:
    """Programs of this release and of the one before on one table. CalledProcessError where they don't agree, or the
    commit of that release is missing."""
    environ = {**os.environ, "SINGLETABLE_PREVIOUS": "required"}
    subprocess.run([sys.executable, "-m", "pytest", "-q", "tests/previous"], cwd=ROOT, env=environ, check=True)


def build(out: Path) -> list[Path]:
    """The sdist of the library, the wheels, and the engine's wheels."""
    return [source(out), *wheels(out), *engines(out)]


def documentation(out: Path) -> Path:
    """The site as an archive. SystemExit where a page has a defect."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site")
        if wrong := site_builder.build(site, Path(folder, "work")):
            raise SystemExit("\n".join(["the site has defects:", *wrong]))
        return site_builder.packed(site, out)


def try_out(python: Python, environment: Path, wheels: Path, expected: str) -> None:
    """One install into an empty environment, then the tutorial. SystemExit where it prints something else."""
    install(python, environment, wheels)
    told = tutorial(str(environment / "bin" / "python"), environment, {})
    if told != expected:
        raise SystemExit(f"Python {python.version}: the tutorial printed\n{told}\ninstead of\n{expected}")


def tutorial(python: str, folder: Path, more: dict[str, str]) -> str:
    """What the tutorial's program prints, in a folder of its own."""
    with tempfile.TemporaryDirectory(dir=None if folder == ROOT else folder) as home:
        program = Path(home, TUTORIAL.name)
        program.write_text(TUTORIAL.read_text())
        environ = {**bare(Path(home)), **more}
        if folder == ROOT:
            environ["SINGLETABLE_ENGINE"] = str(find_engine(os.environ, ROOT))
        ran = subprocess.run(
            [python, program.name], cwd=home, env=environ, capture_output=True, text=True, check=False, timeout=120
        )
    if ran.returncode or ran.stderr:
        raise SystemExit(f"{python}: the tutorial failed\n{ran.stderr}")
    return ran.stdout


def write_bill(environment: Path, out: Path) -> None:
    """The SBOM of what one install brings along: CycloneDX, reproducible."""
    options = ["--output-reproducible", "--output-format", "JSON", "--output-file", str(out / "singletable.cdx.json")]
    subprocess.run([TOOLS / "cyclonedx-py", "environment", *options, environment / "bin" / "python"], check=True)


def write_sums(out: Path) -> Path:
    """SHA-256 of each file, as `sha256sum --check` reads them."""
    files = sorted(path for path in out.iterdir() if path.name not in (SUMS, ".gitignore"))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / SUMS).write_text("".join(lines))
    return out / SUMS


def is_without_address() -> bool:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return ".invalid/" in project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["address"]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
