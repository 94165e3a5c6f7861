"""What the file of enhancement proposals says, read again from scratch: nothing here is the application's."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[4] / "shared" / "data" / "goals" / "enhancements.jsonl"
NEEDS_FILE = pytest.mark.skipif(not FILE.exists(), reason="the file of enhancement proposals is not there")


@dataclass
class Expected:
    """Goals as the command line prints them, and their ids by team and by user."""

    goals: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    milestones: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    of_team: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    led_by: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    contributed_by: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def expected(path: Path = FILE) -> Expected:
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    ids = {line["id"] for line in lines}
    found = Expected()
    for line in lines:
        id, leads = line["id"], set(line["authors"])
        contributors = (set(line["reviewers"]) | set(line["approvers"])) - leads
        teams = {line["owning_sig"]} | set(line["participating_sigs"])
        paths = [*line["see_also"], *line["replaces"]]
        found.goals[id] = {
            "id": id,
            "title": line["title"],
            "leads": sorted(leads),
            "contributors": sorted(contributors),
            "teams": sorted(teams),
            "links": sorted({part for path in paths for part in path.split("/")} & (ids - {id})),
        }
        found.milestones[id] = {stage: release for stage, release in line["milestone"].items() if release}
        for names, by_name in (
            (teams, found.of_team),
            (leads, found.led_by),
            (contributors, found.contributed_by),
        ):
            for name in names:
                by_name[name].add(id)
    return found
