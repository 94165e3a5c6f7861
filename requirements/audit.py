"""Asks the advisory services for known vulnerabilities of what is pinned: `make audit`.

Ends with 1 where one is known, with 2 where a tool could not do its work, else with 0. Where no service could be asked,
for want of a network or as none answered, it says so, and that is no failure. A vulnerability that does not touch this
project is named in accepted.txt, with the reason.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NPM = (HERE.parent, HERE.parent / "tests/soak/beside")
"""The folders with a lock file of npm."""
_PATIENCE_SECONDS = 300.0
_NOT_REACHED = re.compile(
    r"ServiceError|ConnectionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError|HTTPError|NameResolutionError"
    r"|Max retries exceeded|Could not connect|JSONDecodeError|RetryError|TooManyRedirects|ChunkedEncodingError"
)
_NPM_BROKEN = frozenset({"ENOLOCK", "EUSAGE", "EJSONPARSE", "ENOENT", "EACCES"})


@dataclass(frozen=True)
class Ran:
    """What a tool printed, and how it ended."""

    code: int
    out: str
    err: str = ""


@dataclass(frozen=True)
class Vulnerability:
    package: str
    ids: tuple[str, ...]
    what: str = ""

    def __str__(self) -> str:
        return " ".join([self.package, *self.ids, self.what]).strip()


@dataclass(frozen=True)
class Verdict:
    """What is known of the packages of one list."""

    asked: int = 0
    """Packages that a service had an answer for."""
    unknown: tuple[str, ...] = ()
    """Those that it does not know."""
    found: tuple[Vulnerability, ...] = ()
    not_asked: str = ""
    """Why no service could be asked."""
    broken: str = ""
    """Why the tool could not do its work, for another reason."""


# --- what the tools say -----------------------------------------------------------------------------------------------
def judge_pip(ran: Ran) -> Verdict:
    """What `pip-audit --format json` came to."""
    said = _json(ran.out)
    if not isinstance(said, dict) or "dependencies" not in said:
        last = _last_line(ran.err)
        return Verdict(not_asked=last) if _NOT_REACHED.search(ran.err) else Verdict(broken=last or f"exit {ran.code}")
    packages: Sequence[Mapping[str, Any]] = said["dependencies"]
    unknown = tuple(package["name"] for package in packages if "skip_reason" in package)
    if packages and len(unknown) == len(packages):
        return Verdict(not_asked=f"the service knows none of {len(packages)} packages")
    found = (
        Vulnerability(f"{package['name']} {package['version']}", _ids(each), _fixed_in(each.get("fix_versions", ())))
        for package in packages
        for each in package.get("vulns", ())
    )
    return Verdict(len(packages) - len(unknown), unknown, tuple(found))


def _ids(vulnerability: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([vulnerability["id"], *vulnerability.get("aliases", ())]))


def _fixed_in(versions: Sequence[str]) -> str:
    return f"(fixed in {', '.join(versions)})" if versions else "(no fix is known)"


def judge_npm(ran: Ran) -> Verdict:
    """What `npm audit --json` came to."""
    said = _json(ran.out)
    if not isinstance(said, dict):
        return Verdict(broken=_last_line(ran.err) or f"exit {ran.code}")
    if "auditReportVersion" in said:
        total = said.get("metadata", {}).get("dependencies", {}).get("total", 0)
        return Verdict(int(total), found=tuple(_npm_found(said["vulnerabilities"])))
    error = said.get("error", {})
    what = str(said.get("message") or error.get("summary") or "it gave no reason")
    return Verdict(broken=what) if error.get("code") in _NPM_BROKEN else Verdict(not_asked=what)


def _npm_found(packages: Mapping[str, Mapping[str, Any]]) -> Iterator[Vulnerability]:
    for name, package in packages.items():
        for via in package["via"]:
            if isinstance(via, dict):  # else the name of another package of the list
                yield Vulnerability(f"{name} {via['range']}", (via["url"].rpartition("/")[2],), f"({via['title']})")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


# --- asking -----------------------------------------------------------------------------------------------------------
Run = Callable[[Sequence[str]], Ran]


def run(command: Sequence[str]) -> Ran:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Ran(1, "", f"ReadTimeout: no answer within {_PATIENCE_SECONDS:.0f} s")
    return Ran(done.returncode, done.stdout, done.stderr)


def ask_pip(path: Path, run: Run, more: Sequence[str] = ()) -> Verdict:
    """Of one list of pins: the first service's answer, the second's where the first can't be asked."""
    base = [sys.executable, "-m", "pip_audit", "--requirement", str(path), "--disable-pip", "--require-hashes"]
    base += ["--format", "json", "--aliases", "on", "--progress-spinner", "off", "--timeout", "10"]
    verdict = Verdict()
    for service in ("pypi", "osv"):
        verdict = judge_pip(run([*base, "--vulnerability-service", service, *more]))
        if not verdict.not_asked:
            return verdict
    return verdict


def ask_npm(run: Run, more: Sequence[str] = ()) -> Verdict:
    return judge_npm(run(["npm", "audit", "--json", "--fetch-retries=0", "--fetch-timeout=30000", *more]))


# --- telling ----------------------------------------------------------------------------------------------------------
def accepted(text: str) -> frozenset[str]:
    """The identifiers of accepted.txt, one a line before its reason."""
    lines = (line.split("#")[0].split() for line in text.splitlines())
    return frozenset(words[0] for words in lines if words)


def tell(name: str, verdict: Verdict, known: frozenset[str]) -> tuple[list[str], int]:
    """The lines for one list, and the exit code that it asks for."""
    if verdict.broken:
        return [f"{name}: the audit failed: {verdict.broken}"], 2
    if verdict.not_asked:
        return [f"{name}: NOT ASKED, the advisory service could not be reached: {verdict.not_asked}"], 0
    lines = [f"{name}: not known to the service: {', '.join(verdict.unknown)}"] if verdict.unknown else []
    open_ = [each for each in verdict.found if not known & set(each.ids)]
    lines += [f"{name}: accepted: {each}" for each in verdict.found if each not in open_]
    lines += [f"{name}: VULNERABLE: {each}" for each in open_]
    if not open_:
        lines.append(f"{name}: {verdict.asked} packages, no known vulnerability that is not accepted")
    return lines, 1 if open_ else 0


def main() -> int:
    known = accepted((HERE / "accepted.txt").read_text())
    verdicts = {f"{path.parent.name}/{path.name}": ask_pip(path, run) for path in pinned()}
    for place in NPM:
        verdicts[str(place.relative_to(HERE.parent) / "package-lock.json")] = ask_npm(run, ["--prefix", str(place)])
    told = [tell(name, verdict, known) for name, verdict in verdicts.items()]
    print("\n".join(line for lines, _ in told for line in lines))
    return max(code for _, code in told)


def pinned() -> list[Path]:
    """The lists of pins."""
    return sorted(path for path in HERE.glob("*.txt") if "==" in path.read_text())


if __name__ == "__main__":
    sys.exit(main())
