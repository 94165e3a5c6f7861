"""`fill --job`, and `job`: a durable job by its commands, in processes of their own."""

from __future__ import annotations

import json

import pytest

from tests.e2e.cli.conftest import Folder
from tests.e2e.cli.test_fill import FILLER


@pytest.fixture
def filled(folder: Folder) -> Folder:
    ran = folder.python("-c", "\n".join(line for line in FILLER.splitlines() if "unheard" not in line))
    assert (ran.code, ran.err) == (0, "")
    return folder


def test_a_fill_as_a_job(filled: Folder) -> None:
    ran = filled.run("fill", "shop.model", "--job", "--sections", "2")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0].startswith("shop: ended, for ")
    assert "  written: 7" in ran.out.splitlines()
    again = filled.run("fill", "shop.model", "--job", "--json")
    assert json.loads(again.out)["result"]["written"] == 0
    listed = json.loads(filled.run("job", "list", "shop.model", "--json").out)
    assert [(job["kind"], job["state"], job["share"]) for job in listed] == [("fill", "ended", 1.0)] * 2
    assert json.loads(again.err.splitlines()[-2])["kind"] == "fill"
    assert filled.run("check", "shop.model").code == 0


def test_another_process_goes_on_with_one_that_reached_its_cap(filled: Folder) -> None:
    """Waiting workers end at a signal; here the job is cancelled, or resumed, by other processes."""
    job = begun_without_worker(filled)
    paused = filled.run("job", "pause", "shop.model", job, "--by", "ada", "--json")
    assert json.loads(paused.out)["why"] == "paused by ada"
    assert "paused: paused by ada" in filled.run("job", "list", "shop.model").out
    assert json.loads(filled.run("job", "resume", "shop.model", job, "--cap", "500", "--json").out)["write_cap"] == 500
    bounded = filled.run("job", "resume", "shop.model", job, "--rate", "2000").out.splitlines()
    assert bounded[2] == "  at most: 2K write units a second, 500 write units in all"
    ran = filled.run("job", "run", "shop.model", job, "--at-once", "2", "--json")
    assert (ran.code, json.loads(ran.out)["state"]) == (0, "ended")
    shown = filled.run("job", "show", "shop.model", job)
    assert (shown.code, "7 items" in shown.out or "written: 7" in shown.out) == (0, True)
    assert filled.run("job", "show", "shop.model", job, "--lines").out == ""


def test_a_cancelled_job_ends_its_worker(filled: Folder) -> None:
    job = begun_without_worker(filled)
    assert json.loads(filled.run("job", "cancel", "shop.model", job, "--json").out)["state"] == "cancelled"
    assert filled.run("job", "run", "shop.model", job).code == 3


def begun_without_worker(folder: Folder) -> str:
    ran = folder.python(
        "-c",
        "from shop.model import app\nfrom singletable import connect\nfrom singletable.jobs import Jobs\n"
        "with connect('local:data/singletable.db') as db:\n    print(Jobs(db, app).begin('fill', sections=2).id)",
    )
    assert (ran.code, ran.err) == (0, "")
    return ran.out.strip()


def test_what_does_not_go_together_is_refused(filled: Folder) -> None:
    for options in (["--cap", "5"], ["--sections", "4"], ["--job", "--dry-run"], ["--job", "--segments", "2"]):
        ran = filled.run("fill", "shop.model", *options)
        assert (ran.code, "--job" in ran.err) == (2, True)
    ran = filled.run("job", "show", "shop.model", "fill-x")
    assert (ran.code, "no job 'fill-x'" in ran.err, "conflict.job-refused" in ran.err) == (1, True, True)


def test_stats_as_a_job(filled: Folder) -> None:
    """It is shown as the command shows it; `job show` has it again, and JSON the same numbers."""
    plain = filled.run("stats", "shop.model")
    ran = filled.run("stats", "shop.model", "--job", "--sections", "2", "--html", "shape.html")
    assert ran.code == 0, ran.err
    head, *rest = ran.out.splitlines()
    assert head.startswith("shop: ended, for ")
    assert rest[1:] == plain.out.splitlines()
    (job,) = json.loads(filled.run("job", "list", "shop.model", "--json").out)
    assert filled.run("job", "show", "shop.model", job["id"]).out.splitlines()[2:] == rest[1:]
    assert job["result"]["items"] == 7
    assert (filled.path / "shape.html").exists()
    refused = filled.run("stats", "shop.model", "--job", "--sample", "1%")
    assert (refused.code, "--sample does not go with --job" in refused.err) == (2, True)


def test_an_export_as_a_job(filled: Folder) -> None:
    command = ("export", "shop.model", "--to", "out", "--job")
    ran = filled.run(*command, "--format", "jsonl", "--personal", "--sections", "2")
    assert ran.code == 0, ran.err
    (job,) = json.loads(filled.run("job", "list", "shop.model", "--json").out)
    manifest = json.loads((filled.path / "out" / "manifest.json").read_text())
    assert (job["options"]["to"], job["result"]["id"]) == (str(filled.path / "out"), manifest["id"])
    shown = filled.run("job", "show", "shop.model", job["id"]).out
    assert (f"  id: {manifest['id']}" in shown, "  found: 0" in shown) == (True, True)
    told = filled.run("job", "show", "shop.model", job["id"], "--lines").out
    paths = {json.loads(line)["file"]["path"] for line in told.splitlines()}
    assert paths <= {file["path"] for dataset in manifest["datasets"] for file in dataset["files"]}
    for options in (["--contents"], ["--anew"], ["--segments", "2"], ["--through", "s3://b/p"]):
        refused = filled.run(*command, *options)
        assert (refused.code, "does not go with --job" in refused.err) == (2, True)
