"""The applications' reports: each question runs on the demonstration's data and, where they are, on the real inputs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from examples.goals.tests.file import FILE, NEEDS_FILE
from examples_shared.reports import ask, reports_in, title_of
from goals.cli import main as goals_main
from manhunt.cli import main as manhunt_main
from organisations.cli import main as organisations_main
from projects.cli import main as projects_main
from singletable import Database
from singletable.exchange import Exports
from singletable.reports import SqlSession, open_export, open_live, svg_of
from tests.reports.application_data import DATA, ROOT, TABLES, fill_real_goals, fill_real_organisation, filled

REPORTS = {name: reports_in(ROOT / "examples" / name / "src" / name / "reports") for name in TABLES}
ORGANISATION = DATA / "organisations" / "kubernetes-csi.yaml"
MAINS = {
    "goals": goals_main,
    "organisations": organisations_main,
    "manhunt": manhunt_main,
    "projects": projects_main,
}


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, SqlSession]]:
    """The demonstration of each application, exported."""
    made: dict[str, SqlSession] = {}
    for name, table in TABLES.items():
        folder = tmp_path_factory.mktemp(name)
        with filled(name, folder / "data") as db:
            Exports(db, table).export(folder / "exports")
        made[name] = open_export(folder / "exports", table)
    yield made
    for session in made.values():
        session.close()


def rows(session: SqlSession, application: str, report: str) -> list[dict[str, Any]]:
    answer = ask(session, REPORTS[application][report])
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows()]


@pytest.mark.parametrize("name", list(TABLES))
def test_each_application_has_three_questions_with_an_answer(name: str, sessions: Mapping[str, SqlSession]) -> None:
    assert len(REPORTS[name]) == 3
    for path in REPORTS[name].values():
        assert title_of(path)
        assert len(ask(sessions[name], path)) > 0, path


@pytest.mark.parametrize("name", list(TABLES))
def test_each_application_has_its_picture(name: str) -> None:
    """Written by `python -m tests.reports.pictures`."""
    (picture,) = (ROOT / "examples" / name / "src" / name / "reports").glob("*.svg")
    assert picture.stem in REPORTS[name]
    assert title_of(REPORTS[name][picture.stem]).replace("&", "&amp;") in picture.read_text()
    assert f"src/{name}/reports/{picture.name}" in (ROOT / "examples" / name / "README.md").read_text()


def test_time_from_alarm_to_answer(sessions: Mapping[str, SqlSession]) -> None:
    found = rows(sessions["manhunt"], "manhunt", "answer_times")
    assert {each["method"] for each in found} == {"email", "sms", "voice"}
    by_mail = [each["minutes"] for each in found if each["method"] == "email"]
    by_voice = [each["minutes"] for each in found if each["method"] == "voice"]
    assert max(by_mail) < min(by_voice)
    left = rows(sessions["manhunt"], "manhunt", "unanswered")
    assert sum(each["unanswered"] for each in left) == 3
    assert sum(each["answered"] for each in left) == 9


def test_changes_of_a_project_week_by_week(sessions: Mapping[str, SqlSession]) -> None:
    (week,) = rows(sessions["projects"], "projects", "changes_by_week")
    assert (week["who"], week["what"], week["changes"]) == ("Ada <ada@example.org>", "commit", 5)
    assert week["week"] == "2025-12-29"  # of the commits, on 1 January, and not of their import
    areas = rows(sessions["projects"], "projects", "areas")
    assert [(each["area"], each["commits"]) for each in areas] == [("graph", 2), ("wire", 2), ("docs", 1)]


@NEEDS_FILE
def test_goals_of_the_real_file(any_db: Database) -> None:
    """Counted from the file's lines, without the application."""
    fill_real_goals(any_db)
    without: Counter[str] = Counter()
    goals: Counter[str] = Counter()
    led: defaultdict[str, set[str]] = defaultdict(set)
    for line in map(json.loads, FILE.read_text("utf-8").splitlines()):
        teams = {line["owning_sig"], *line["participating_sigs"]} - {""}
        for team in teams:
            goals[team] += 1
            without[team] += not line["authors"]
        for author in set(line["authors"]):
            led[author].add(line["id"])
    with open_live(any_db, TABLES["goals"]) as session:
        found = rows(session, "goals", "goals_without_lead")
        assert {each["team"]: each["goals"] for each in found} == dict(goals)
        assert {each["team"]: each["without_lead"] for each in found} == dict(without)
        leads = rows(session, "goals", "busiest_leads")
        most = sorted((len(ids) for ids in led.values()), reverse=True)[:20]
        assert [each["goals"] for each in leads] == most
        assert svg_of(ask(session, REPORTS["goals"]["progress_by_team"]).chart("x"))


@pytest.mark.skipif(not ORGANISATION.exists(), reason="the organisation's file is not there")
def test_access_in_a_real_organisation(any_db: Database) -> None:
    """Who has which permission on which repository, read from the file without the application."""
    fill_real_organisation(any_db)
    expected: set[tuple[str, str, str]] = set()

    def collect(teams: Mapping[str, Any]) -> None:
        for team in teams.values():
            people = [*(team.get("members") or ()), *(team.get("maintainers") or ())]
            for repository, permission in (team.get("repos") or {}).items():
                expected.update((repository, permission, person.lower()) for person in people)
            collect(team.get("teams") or {})

    collect(yaml.safe_load(ORGANISATION.read_text("utf-8"))["teams"])
    with open_live(any_db, TABLES["organisations"]) as session:
        found = rows(session, "organisations", "service_access")
        assert {(each["service"], each["group"], each["person"].lower()) for each in found} == expected
        people = rows(session, "organisations", "people_by_service")
        by_service = Counter(service for service, _ in {(service, person) for service, _, person in expected})
        assert {each["service"]: each["people"] for each in people}.items() <= dict(by_service).items()


@pytest.mark.parametrize("name", ["goals", "projects"])
def test_the_command(name: str, tmp_path: Path) -> None:
    """Its list, a report as JSON of an empty table, and one that there is not."""
    before = ["--db", f"local:{tmp_path / 'x.db'}"]
    runner = CliRunner()
    listed = runner.invoke(MAINS[name], [*before, "report"], env={"COLUMNS": "160"})
    assert listed.exit_code == 0, listed.output
    for report, path in REPORTS[name].items():
        assert report in listed.output
        assert title_of(path)[:40] in listed.output
    first = next(iter(REPORTS[name]))
    asked = runner.invoke(MAINS[name], [*before, "report", first, "--json"])
    assert (asked.exit_code, json.loads(asked.stdout)) == (0, []), asked.output
    missing = runner.invoke(MAINS[name], [*before, "report", "nothing"])
    assert missing.exit_code == 2
    assert "There are:" in missing.output
