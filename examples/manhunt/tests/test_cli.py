"""The command line, in processes of its own: the operator's commands, `work`, `serve` and `simulate`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.manhunt.tests.receivers import http_server
from examples.manhunt.tests.support import SECRET
from examples_shared.testing.busy import busy_loops
from examples_shared.testing.commandline import CommandLine, Inside, environ
from examples_shared.testing.nursery import SERVING, Process, start_program
from examples_shared.testing.serving import free_port
from manhunt.simulate import LONGEST_WAIT_SECONDS, DueAnswer, Signs, Stuck

MODULE = "manhunt"
ENGINE = Path(__file__).parents[3] / "node_modules/@dynoxide/linux-x64/dynoxide"
KEYS = [
    "searches",
    "ended_once",
    "answered",
    "failed",
    "attempts",
    "attempts_after_end",
    "early_attempts",
    "seconds",
]


@pytest.fixture
def run(tmp_path: Path) -> CommandLine:
    return CommandLine(MODULE, f"local:{tmp_path}/manhunt.db")


@pytest.fixture
def inside(run: CommandLine) -> Iterator[Inside]:
    """The commands in this process."""
    with run.inside() as inside:
        yield inside


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """The same, for tests that change nothing."""
    with CommandLine(MODULE, f"local:{tmp_path_factory.mktemp('kept')}/manhunt.db").inside() as inside:
        yield inside


@contextmanager
def process(target: str, log: Path, *arguments: str, ready: str) -> Generator[Process, None, None]:
    """A command that goes on, from when it says that it is ready."""
    warm = [f"{MODULE}.cli", f"{MODULE}.api", *SERVING]
    environ = {**os.environ, "NO_COLOR": "1"}
    with log.open("wb") as out:
        started = start_program(
            MODULE, "--db", target, *arguments, warm=warm, environ=environ, strict=True, stdout=out, stderr=out
        )
    try:
        until(lambda: ready in log.read_text(), log)
        yield started
    finally:
        started.kill()
        started.wait()


def until(condition: Any, log: Path, seconds: float = 45) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)  # noqa: TID251 a process is waited for


def outcome_of(ran: Any, searches: int) -> dict[str, float]:
    found: dict[str, float] = ran.json
    assert list(found) == KEYS
    assert (found["searches"], found["ended_once"]) == (searches, searches)
    assert found["answered"] + found["failed"] == searches
    assert found["attempts_after_end"] == found["early_attempts"] == 0
    assert 2 * found["failed"] < found["attempts"] <= 4 * searches
    return found


# --- simulate ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("kind", "searches"), [("memory", 3), pytest.param("file", 8, marks=pytest.mark.soak)])
def test_simulate_prints_what_became_of_the_searches(kind: str, searches: int, tmp_path: Path) -> None:
    """On `local` too the searches are in a file, as a process of its own works on them."""
    run = CommandLine(MODULE, "local" if kind == "memory" else f"local:{tmp_path}/manhunt.db")
    ran = run("simulate", "--searches", str(searches), "--json", "--seed", "7")
    found = outcome_of(ran, searches)
    assert found["answered"] > 0
    assert "kills;" in ran.err


@pytest.mark.soak
@pytest.mark.timeout(800)
def test_hundreds_of_searches_at_once_all_end_once(tmp_path: Path) -> None:
    run = CommandLine(MODULE, f"local:{tmp_path}/manhunt.db")
    ran = run("simulate", "--searches", "300", "--json", seconds=760)
    found = outcome_of(ran, 300)
    assert found["answered"] > 30
    sys.stdout.write(f"{found}\n{ran.err}\n")
    assert run("check").out == "nothing is wrong\n"


# --- storm ------------------------------------------------------------------------------------------------------------
def storm_of(ran: Any, incidents: int) -> dict[str, float]:
    """Each ended once; nobody who was off call was hunted, nobody after the end, nobody twice."""
    found: dict[str, float] = ran.json
    assert (found["incidents"], found["ended_once"]) == (incidents, incidents)
    assert found["resolved"] + found["unanswered"] == incidents
    assert found["off_call"] == found["hunted_after_end"] == found["hunted_twice"] == 0
    assert found["searches"] >= incidents
    assert min(found["resolved"], found["attempts"], found["rota_changes"], found["kills"]) > 0
    assert found["alarms"] > incidents
    return found


@pytest.mark.timeout(200)
def test_a_storm_of_incidents_while_rotas_change_and_workers_are_killed(tmp_path: Path) -> None:
    run = CommandLine(MODULE, f"local:{tmp_path}/manhunt.db")
    storm_of(run("storm", "--incidents", "5", "--stage-seconds", "1", "--json", "--seed", "5", seconds=180), 5)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_storm_of_two_hundred_incidents(tmp_path: Path) -> None:
    run = CommandLine(MODULE, f"local:{tmp_path}/manhunt.db")
    ran = run("storm", "--incidents", "200", "--json", seconds=560)
    found = storm_of(ran, 200)
    assert found["unanswered"] > 0
    sys.stdout.write(f"{found}\n{ran.err}\n")
    assert run("check").out == "nothing is wrong\n"


def test_a_worker_starts_without_a_web_framework() -> None:
    """Which takes longer to import than all the rest: a worker that is restarted often would do little else."""
    asked = "import sys, manhunt.cli; print(sorted({'fastapi', 'pydantic', 'starlette'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", asked], env=environ(), capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_searches_end_on_a_busy_machine(tmp_path: Path) -> None:
    run = CommandLine(MODULE, f"local:{tmp_path}/manhunt.db")
    with busy_loops(2):
        outcome_of(run("simulate", "--searches", "3", "--json", "--seed", "3", seconds=280), 3)


@pytest.mark.soak
@pytest.mark.timeout(3700)
def test_many_searches_end_on_a_busy_machine(tmp_path: Path) -> None:
    """Some dozens, so that other long runs beside them have time; `BUSY_SEARCHES=2000` for the whole."""
    count = int(os.environ.get("BUSY_SEARCHES", "80"))
    run = CommandLine(MODULE, f"local:{tmp_path}/manhunt.db")
    with busy_loops():
        ran = run("simulate", "--searches", str(count), "--json", seconds=3600)
    sys.stdout.write(f"{outcome_of(ran, count)}\n{ran.err}\n")


def test_those_who_find_nothing_to_answer_ask_less_and_less_often() -> None:
    due, waits = DueAnswer(0.0, "s1"), list[float]()
    while due.at < 60:
        waits.append(due.put_off(due.at).at - due.at)
        due = due.put_off(due.at)
    assert len(waits) < 20
    assert max(waits) == pytest.approx(LONGEST_WAIT_SECONDS)


def test_a_simulation_is_stuck_when_nothing_happens_not_when_it_takes_long() -> None:
    signs = Signs(10.0)
    for second in range(0, 1000, 9):
        signs.check(second, second)
    signs.check(1000, "the same")
    signs.check(1010, "the same")
    with pytest.raises(Stuck, match="10 seconds"):
        signs.check(1010.1, "the same")


# --- the operator -----------------------------------------------------------------------------------------------------
def test_contacts_methods_and_searches(inside: Inside) -> None:
    run = replace(inside, columns="200")
    contact = run("contact", "add", "Ada").last_line
    method = run("method", "add", contact, "email", "ada@example.org", "--wait", "5").last_line
    run("method", "change", contact, method, "--to", "ada@example.net", "--disable")
    (shown,) = run("contact", "show", contact, "--json").json["methods"]
    assert (shown["destination"], shown["wait_seconds"], shown["enabled"]) == ("ada@example.net", 5, False)
    failed = run("search", "open", contact, "--meta", "summary=the quay is wet")
    assert "failed: no contact method is enabled" in failed.err
    run("method", "change", contact, method, "--enable")
    search = run("search", "open", contact, "--meta", "summary=the quay is wet").last_line
    assert run("search", "show", search, "--json").json["status"] == "active"
    run("search", "cancel", search, "--by", "grace", "--reason", "dry again")
    assert "grace, cancelled, dry again" in run("search", "list", contact, "--status", "cancelled").out
    run("contact", "rename", contact, "Ada L.")
    assert "Ada L." in run("contact", "list").out
    assert run("check").out == "nothing is wrong\n"
    run("method", "delete", contact, method)
    run("contact", "delete", contact)


def test_rotas_policies_and_incidents(inside: Inside) -> None:
    run = replace(inside, columns="200")
    ada, grace = (run("contact", "add", name).last_line for name in ("Ada", "Grace"))
    for contact in (ada, grace):
        run("method", "add", contact, "email", "somebody@example.org")
    run("contact", "quiet", ada, "22:00", "07:00", "--zone", "Europe/Berlin")
    rota = run("rota", "add", "nights", ada, grace, "--turn", "1d", "--zone", "Europe/Berlin").last_line
    assert ada in run("rota", "list").out
    run("rota", "override", rota, grace, "2026-01-01T00:00Z", "2099-01-01T00:00Z")
    assert grace in run("rota", "calendar", rota).out
    policy = run("policy", "add", "lights", "--stage", f"rota:{rota}@300", "--stage", f"contact:{ada}@300").last_line
    assert f"rota:{rota}" in run("policy", "show", policy).out
    incident = run("incident", "open", policy, "the lamp is out", "--key", "lamp").last_line
    again = run("incident", "open", policy, "the lamp is out", "--key", "lamp")
    assert (again.last_line, "alarm 2" in again.err) == (incident, True)
    shown = run("incident", "show", incident, "--json").json
    assert [(each["contact_name"], each["status"]) for each in shown["searches"]] == [("Grace", "active")]
    run("incident", "reassign", incident, f"contact:{ada}", "--by", "Grace")
    run("incident", "snooze", incident, "8h", "--by", "Ada")
    run("incident", "acknowledge", incident, "--by", "Ada", "--said", "mine")
    run("incident", "add-resource", incident, "Notes=https://notes.example.org/1")
    run("incident", "resolve", incident, "--by", "Ada")
    assert "Notes" in run("incident", "show", incident).out
    assert incident in run("incident", "list", "--status", "resolved", "--since", "2026-01-01").out
    assert incident not in run("incident", "list", "--until", "2026-01-01").out
    found = run("search", "list", grace, "--status", "active", "--since", "2026-01-01", "--until", "2099-01-01")
    assert (shown["searches"][0]["search_id"] in found.out, "1 requests" in found.err) == (True, True)
    assert "0.5 read units" in run("search", "show", shown["searches"][0]["search_id"], "--alone").err
    assert run("check").out == "nothing is wrong\n"


def test_the_demonstration_leaves_no_file(tmp_path: Path) -> None:
    port = free_port()
    own = {k: v for k, v in environ().items() if not k.startswith("MANHUNT_")}
    if ENGINE.exists():  # of a checkout; elsewhere it is installed
        own.setdefault("SINGLETABLE_ENGINE", str(ENGINE))
    command = [sys.executable, "-m", MODULE, "demo", "--port", str(port)]
    log, folder = tmp_path / "log", tmp_path / "checkout"
    folder.mkdir()
    with log.open("wb") as out, subprocess.Popen(command, cwd=folder, env=own, stdout=out, stderr=out) as demo:
        until(lambda: "Uvicorn running" in log.read_text(), log)
        assert "Ada Lovelace" in httpx.get(f"http://127.0.0.1:{port}/").text
        demo.terminate()
        demo.wait(30)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("contact", "show", "nobody"), "there is no contact 'nobody'"),
        (("search", "show", "nobody"), "there is no search 'nobody'"),
        (("method", "add", "nobody", "email", "ada"), "an e-mail address looks like"),
        (("contact", "add", ""), "a name has"),
        (("token", "harbour", "--secret", "short"), "at least 32 characters"),
        (("rota", "show", "nobody"), "there is no rota 'nobody'"),
        (("policy", "add", "x", "--stage", "ada@300"), "say contact:ID or rota:ID"),
        (("policy", "add", "x", "--stage", "contact:x"), "as in rota:ID,contact:ID@300"),
        (("incident", "open", "nobody", "x"), "there is no policy 'nobody'"),
        (("incident", "snooze", "x", "soon", "--by", "ada"), "'soon' is not a length of time"),
        (("incident", "list", "--since", "yesterday"), "'yesterday' is not a moment: say one as in 2026-01-31T09:30"),
        (("contact", "quiet", "x", "22:00"), "say both times"),
    ],
)
def test_refusals_are_a_line(kept: Inside, arguments: tuple[str, ...], said: str) -> None:
    ran = kept(*arguments, check=False)
    assert (ran.code, said in ran.err, "Traceback" in ran.err) == (1, True, False)


@pytest.mark.parametrize("arguments", [("contact", "list"), ("contact", "show", "nobody"), ("token", "harbour")])
def test_a_command_is_the_same_in_a_process_of_its_own(kept: Inside, arguments: tuple[str, ...]) -> None:
    assert CommandLine(MODULE, kept.target)(*arguments, check=False) == kept(*arguments, check=False)


def test_another_domain_sees_nothing(run: CommandLine, tmp_path: Path) -> None:
    contact = run("contact", "add", "Ada").last_line
    other = CommandLine(MODULE, run.target, ("--domain", "elsewhere"))
    assert other("contact", "show", contact, check=False).code == 1


def test_unsafe_ways_to_serve_are_refused(kept: Inside) -> None:
    options = "--host", "0.0.0.0", "--insecure-domain", "harbour", "--secret", SECRET
    assert kept("serve", *options, check=False).code == 2


# --- processes --------------------------------------------------------------------------------------------------------
def test_a_worker_and_a_server_carry_a_search_to_its_end(run: CommandLine, tmp_path: Path) -> None:
    """Opened over HTTP, sent by the worker, answered over HTTP; the worker ends on SIGTERM."""
    port, logs = free_port(), (tmp_path / "work.log", tmp_path / "serve.log")
    base = f"http://127.0.0.1:{port}"
    secret = ("--secret", SECRET, "--base-url", base)
    token = run("token", "harbour", "--secret", SECRET).last_line
    working = ("work", *secret, "--private-webhooks", "--poll", "0.1")
    serving = ("serve", *secret, "--port", str(port))
    with (
        http_server() as box,
        process(run.target, logs[0], *working, ready="working") as worker,
        process(run.target, logs[1], *serving, ready="running on"),
        httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}) as client,
    ):
        contact = client.post("/api/contacts", json={"name": "Ada"}).json()["contact_id"]
        method = {"kind": "webhook", "destination": f"{box.url}/ada"}
        assert client.post(f"/api/contacts/{contact}/methods", json=method).status_code == 201
        given = {"metadata": {"summary": "x"}}
        search = client.post(f"/api/contacts/{contact}/searches", json=given).json()["search_id"]
        until(lambda: box.posts, logs[0])
        answered = httpx.post(_answer_url(box.posts[0].body), json={"said": "here"})
        assert answered.json() == {"status": "answered", "by": "Ada"}
        assert client.get(f"/api/searches/{search}").json()["attempts"][0]["answer"] == "webhook: here"
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0, logs[0].read_text()
    assert "tasks done" in logs[0].read_text()
    assert run("check").out == "nothing is wrong\n"


def _answer_url(body: bytes) -> str:
    import json

    return str(json.loads(body)["answer_url"])


def test_the_demo_shows_messages_and_serves_pages(run: CommandLine, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "log"
    with process(run.target, log, "demo", "--port", str(port), ready="running on") as demo:
        page = httpx.get(f"http://127.0.0.1:{port}/").text
        path = page.split('href="/contacts/')[1].split('"')[0]
        opened = httpx.post(f"http://127.0.0.1:{port}/contacts/{path}/searches", data={"summary": "a leak"})
        assert opened.status_code == 303
        until(lambda: "email to ada@example.org: You are needed: a leak" in log.read_text(), log)
        demo.send_signal(signal.SIGINT)
        assert demo.wait(30) == 0, log.read_text()


# --- what is refused before anything is opened ------------------------------------------------------------------------
@pytest.mark.parametrize("url", ["nonsense", "", "ftp://host", "http://", "https:///path", "http://[", "http://h:x"])
@pytest.mark.parametrize("command", ["work", "serve"])
def test_a_base_url_that_leads_nowhere_is_refused(run: CommandLine, tmp_path: Path, command: str, url: str) -> None:
    ran = Inside(MODULE, run.target)(command, "--secret", SECRET, "--base-url", url, check=False)
    assert ran.code == 2
    assert "http:// or https:// and a host" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_missing_secret_says_where_it_can_be_set(kept: Inside) -> None:
    for command in (["token", "harbour"], ["work"], ["serve"]):
        ran = kept(*command, check=False)
        assert ran.code == 2
        assert "MANHUNT_SECRETS" in ran.err


def test_a_search_for_nobody_says_so_before_it_talks_of_the_message(kept: Inside) -> None:
    ran = kept("search", "open", "nobody", check=False)
    assert ran.code == 1
    assert "nobody" in ran.err
    assert "metadata" not in ran.err
