"""What is done later: deletion, mail, the trail; each finished whatever crashes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from email.message import EmailMessage
from functools import partial

import pytest

from examples.organisations.tests.files import FOLDER
from examples.organisations.tests.http import Client
from examples.organisations.tests.support import (
    INVITED,
    MEMBER,
    OWNER,
    STRANGER,
    Stopped,
    raw_items,
    stopping,
    user_side,
)
from examples_shared.mail import MailServer, send
from examples_shared.testing.mailbox import Mailbox, mail_server
from examples_shared.testing.sampling import sampled
from organisations import organisations
from organisations.check import check
from organisations.errors import (
    LastOwner,
    NoOpenInvitation,
    NoSuchJob,
    NoSuchOrganisation,
    NotAllowed,
    Refused,
)
from organisations.github_file import read
from organisations.groups import Group
from organisations.import_github import import_file
from organisations.jobs import Later
from organisations.mail import Post
from organisations.model import Job, UserOrganisation, tasks
from organisations.service import Service
from organisations.worker import drain
from singletable import Database, connect
from singletable.tasks import TaskWorker
from tests.support.children import KILLED, mortal, run_child

CREW = Group("crew")


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with mail_server() as box:
        yield box


def post_to(box: Mailbox) -> Post:
    server = MailServer("127.0.0.1", box.port, timeout_seconds=5)
    return Post(partial(send, server), "orgs@example.org", "https://orgs.example.org")


def no_post() -> Post:
    return Post(lambda mail: None)


# --- invitations ------------------------------------------------------------------------------------------------------
async def test_owners_see_open_invitations_and_withdraw_them(app: Service, org: str) -> None:
    app.invite(org, STRANGER, [CREW, Group("pilots", "api")], by=OWNER)
    ada, linus = Client(app, OWNER), Client(app, INVITED)
    with app.db.meter() as meter:
        said = (await ada.ask("GET", f"/organisations/{org}/invitations")).json()
    assert (meter.requests, meter.read_units) == (3, 4.5)
    assert [(one["email"], one["invited_by"]) for one in said["invitations"]] == [(INVITED, None), (STRANGER, OWNER)]
    assert said["invitations"][1]["groups"] == [
        {"name": "crew", "service_id": None},
        {"name": "pilots", "service_id": "api"},
    ]
    first = (await ada.ask("GET", f"/organisations/{org}/invitations?limit=1")).json()
    rest = (await ada.ask("GET", f"/organisations/{org}/invitations?limit=1&after={first['after']}")).json()
    assert [one["email"] for one in rest["invitations"]] == [STRANGER]
    assert (await ada.ask("DELETE", f"/organisations/{org}/invitations/{INVITED}")).status_code == 204
    assert (await linus.ask("POST", f"/users/{INVITED}/invitations/{org}/accept")).status_code == 404
    assert (await ada.ask("DELETE", f"/organisations/{org}/invitations/{INVITED}")).status_code == 404
    with pytest.raises(NoOpenInvitation):
        app.withdraw(org, MEMBER)
    with pytest.raises(NotAllowed):
        app.open_invitations(org, by=MEMBER)


async def test_a_member_leaves_and_the_last_owner_stays(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [CREW])
    grace, ada = Client(app, MEMBER), Client(app, OWNER)
    assert (await grace.ask("DELETE", f"/users/{MEMBER}/organisations/{org}")).status_code == 204
    assert (await grace.ask("GET", f"/organisations/{org}")).status_code == 404
    assert app.reach(MEMBER) == []
    assert (await ada.ask("DELETE", f"/users/{OWNER}/organisations/{org}")).status_code == 409
    with pytest.raises(LastOwner):
        app.leave(org, OWNER)
    with pytest.raises(NoSuchOrganisation):
        app.leave(org, INVITED)


def test_an_invitation_is_mailed_once(app: Service, org: str, mailbox: Mailbox) -> None:
    app.decline(org, INVITED)
    app.invite(org, STRANGER, by=OWNER)
    app.invite(org, STRANGER, [CREW], by=OWNER)
    drain(app.db, post_to(mailbox))
    drain(app.db, post_to(mailbox))
    (mail,) = mailbox.mails
    assert (mail["To"], mail["Subject"]) == (STRANGER, "You are invited to Acme")
    assert "by ada@example.org" in mail.get_content()
    assert "https://orgs.example.org" in mail.get_content()
    side = user_side(app, org, STRANGER)
    assert side is not None
    assert side.mailed_at is not None


def test_a_mail_server_that_is_away_is_tried_again_and_one_that_refuses_is_not(app: Service, org: str) -> None:
    tried: list[EmailMessage] = []
    app.invite(org, "no-address")
    drain(app.db, Post(tried.append))
    assert [mail["To"] for mail in tried] == [INVITED]
    assert TaskWorker(app.db, tasks).dead_letters() == []


# --- messages ---------------------------------------------------------------------------------------------------------
async def test_a_message_goes_to_each_member_of_the_group_once(app: Service, org: str, mailbox: Mailbox) -> None:
    app.add_to_groups(org, MEMBER, [CREW])
    app.add_to_groups(org, OWNER, [CREW])
    app.invite(org, INVITED, [CREW])
    ada = Client(app, OWNER)
    given = {"group": {"name": "crew"}, "text": "Ahoy\n\nWe sail at dawn."}
    sent = await ada.ask("POST", f"/organisations/{org}/messages", given)
    assert (sent.status_code, sent.json()["total"]) == (202, None)
    drain(app.db, replace(post_to(mailbox)))
    messages = [mail for mail in mailbox.mails if mail["Subject"] == "Ahoy"]
    assert sorted(mail["To"] for mail in messages) == [OWNER, MEMBER]
    job = (await ada.ask("GET", sent.headers["Location"])).json()
    assert (job["done"], job["total"], job["is_done"]) == (2, 2, True)
    (stored,) = app.db.scan(Job)
    assert stored.position == ""  # no address stays in it
    assert (await Client(app, STRANGER).ask("GET", sent.headers["Location"])).status_code == 404


PEOPLE = 8


def crowded(target: str) -> str:
    """An organisation with a crew, a message to them that nobody has sent yet, and an invitation."""
    with connect(target) as db:
        db.create_table(organisations)
        people = ", ".join(f"p{n:02}@example.org" for n in range(PEOPLE))
        file = read(f"admins: [ada@example.org]\nteams: {{crew: {{members: [{people}]}}}}", "crowd")
        app = Service(db)
        import_file(db, file, app.now(), lambda done, total: None)
        app.invite("crowd", "new@example.org", by="ada@example.org")
        return app.send_message("crowd", CREW, "Ahoy", by="ada@example.org").job_id


def mail_all(target: str, port: str) -> None:
    """In a child, which may die at any request."""
    with mortal(target) as db:
        server = MailServer("127.0.0.1", int(port), timeout_seconds=5)
        Later(db, Post(partial(send, server), "orgs@example.org"), Service(db).now)
        while TaskWorker(db, tasks).drain(at_once=1, lease_seconds=0.2).done:
            pass


POINTS = [f"request.{when}:{n}" for when in ("before", "after") for n in (5, 9, 14, 24)]


@pytest.mark.parametrize("point", sampled(POINTS, 3))
def test_each_mail_leaves_whenever_the_worker_is_killed(tmp_path: object, mailbox: Mailbox, point: str) -> None:
    """One process is killed, another finishes. A mail whose worker died between the mail server's answer and the note
    of it may come twice, with one Message-ID: each is there, and at most one of them twice."""
    target = f"local:{tmp_path}/mail.db"
    job_id = crowded(target)
    assert run_child(mail_all, target, str(mailbox.port), dies_at=point) == KILLED
    with connect(target) as db:
        Later(db, post_to(mailbox), Service(db).now)
        while not (job := Service(db).job(job_id)).is_done or not _is_mailed(db):
            TaskWorker(db, tasks).drain(lease_seconds=0.2)  # and again, until the dead worker's lease is over
    assert (job.done, job.refused) == (PEOPLE, 0)
    ids = [mail["Message-ID"] for mail in mailbox.mails]
    assert len(set(ids)) == PEOPLE + 1
    assert len(ids) <= PEOPLE + 2
    wanted = {*(f"p{n:02}@example.org" for n in range(PEOPLE)), "new@example.org"}
    assert {mail["To"] for mail in mailbox.mails} == wanted


def _is_mailed(db: Database) -> bool:
    side = db.get(UserOrganisation.of_user("new@example.org", "crowd").consistent())
    return side is not None and side.mailed_at is not None


# --- deletion ---------------------------------------------------------------------------------------------------------
async def test_a_deleted_organisation_is_hidden_at_once_and_gone_later(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [CREW, Group("pilots", "api")])
    ada, grace = Client(app, OWNER), Client(app, MEMBER)
    answer = await ada.ask("DELETE", f"/organisations/{org}")
    assert (answer.status_code, answer.json()["kind"]) == (202, "delete")
    for path in ("", "/details", "/invitations", "/trail", "/role", "/who-may?service=api"):
        assert (await ada.ask("GET", f"/organisations/{org}{path}")).status_code == 404
    assert (await grace.ask("GET", f"/users/{MEMBER}/details")).json()["organisations"] == []
    for answer_it in (app.accept, app.decline):
        with pytest.raises(NoOpenInvitation):
            answer_it(org, INVITED)
    gone_for: tuple[Callable[[], object], ...] = (
        lambda: app.invite(org, STRANGER),
        lambda: app.add_to_groups(org, MEMBER, [Group("deck")]),
        lambda: app.remove_from_groups(org, MEMBER, [CREW]),
        lambda: app.remove_user(org, MEMBER),
        lambda: app.leave(org, MEMBER),
        lambda: app.put_service(org, "web", "Web"),
        lambda: app.delete_service(org, "api"),
        lambda: app.put_organisation(org, "New"),
        lambda: app.rename_organisation(org, "New"),
        lambda: app.send_message(org, CREW, "Ahoy"),
        lambda: app.delete_organisation(org, by=OWNER),
    )
    for gone in gone_for:
        with pytest.raises(NoSuchOrganisation):
            gone()
    with pytest.raises(Refused, match="is being deleted"):
        import_file(app.db, read("admins: [ada]", org), app.now(), lambda done, total: None)
    drain(app.db, no_post())
    job = (await ada.ask("GET", answer.headers["Location"])).json()
    assert (job["is_done"], job["done"]) == (True, 3)
    left = {partition for partition, _ in raw_items(app.db) if org in partition}
    assert left == {f"trail/{org}"}
    assert not app.may(MEMBER, org, group="crew")
    with pytest.raises(NoSuchJob):
        app.job("nothing")


@pytest.mark.parametrize("at", range(9))
def test_a_deletion_goes_on_wherever_it_was_stopped(app: Service, org: str, at: int) -> None:
    app.add_to_groups(org, MEMBER, [CREW, Group("pilots", "api")])
    job = app.delete_organisation(org, by=OWNER)
    worker = Later(stopping(app, at).db, no_post(), app.now)
    with pytest.raises(Stopped):
        worker.delete.function(job.job_id)
    with pytest.raises(NoSuchOrganisation):
        app.get_organisation(org)
    drain(app.db, no_post())
    assert app.job(job.job_id).is_done
    assert not [partition for partition, _ in raw_items(app.db) if org in partition and "trail" not in partition]


# --- the trail --------------------------------------------------------------------------------------------------------
async def test_the_trail_says_who_did_what(app: Service, org: str) -> None:
    app.invite(org, STRANGER, [CREW], by=OWNER)
    app.accept(org, STRANGER)
    app.add_to_groups(org, MEMBER, [CREW, Group("pilots", "api")], by=OWNER)
    app.remove_from_groups(org, MEMBER, [CREW], by=OWNER)
    app.decline(org, INVITED)
    app.put_organisation(org, "Newer", by=OWNER)
    app.delete_service(org, "api", by=OWNER)
    app.leave(org, STRANGER)
    app.remove_user(org, MEMBER, by=OWNER)
    drain(app.db, no_post())
    before = raw_items(app.db)
    drain(app.db, no_post())
    assert raw_items(app.db) == before
    said = (await Client(app, OWNER).ask("GET", f"/organisations/{org}/trail?limit=100")).json()["entries"]
    told = {(entry["by"], entry["what"], entry["whom"] or entry["service_id"] or entry["name"]) for entry in said}
    assert told >= {
        (OWNER, "created", "Acme"),
        (None, "created a service", "api"),
        (OWNER, "invited", STRANGER),
        (STRANGER, "accepted", STRANGER),
        (OWNER, "changed groups", MEMBER),
        (INVITED, "declined", INVITED),
        (OWNER, "renamed", "Newer"),
        (OWNER, "deleted a service", "api"),
        (STRANGER, "left", STRANGER),
        (OWNER, "removed", MEMBER),
    }
    changes = [(e["given"], e["taken"]) for e in said if e["what"] == "changed groups" and e["whom"] == MEMBER]
    crew, pilots = {"name": "crew", "service_id": None}, {"name": "pilots", "service_id": "api"}
    assert ([crew, pilots], []) in changes
    assert ([], [crew]) in changes
    assert ([], [pilots]) in changes


def test_details_reach_every_copy_by_the_stream(app: Service, org: str) -> None:
    """A user's record that another program writes: the copies follow."""
    user = app.get_user(MEMBER)
    app.db.put(replace(user, first_name="Gracia", phone="9"))
    drain(app.db, no_post())
    assert [(p.first_name, p.phone) for p in app.organisation_details(org).members if p.email == MEMBER] == [
        ("Gracia", "9")
    ]


# --- the real file ----------------------------------------------------------------------------------------------------
async def test_1276_people_are_renamed_by_the_api(db: Database) -> None:
    file = FOLDER / "kubernetes.yaml"
    if not file.exists():
        pytest.skip("the folder of real organisation files is not here")
    app = Service(db)
    import_file(db, read(file.read_text(), file.stem), app.now(), lambda done, total: None)
    owner, somebody = (app.who_may("kubernetes", group=name).items[0].email for name in ("owner", "member"))
    with db.meter() as meter:
        answer = await Client(app, owner).ask("PUT", "/organisations/kubernetes", {"name": "K8s"})
    assert (answer.status_code, answer.json()["name"], meter.write_units < 12) == (202, "K8s", True)
    where = answer.headers["Location"]
    assert (await Client(app, somebody).ask("GET", where)).json()["total"] == 1276
    assert app.user_details(somebody).organisations[0].organisation_name == "Kubernetes"
    fresh = (await Client(app, somebody).ask("GET", f"/users/{somebody}/details")).json()
    assert [one["organisation_name"] for one in fresh["organisations"]] == ["K8s"]
    Later(db, no_post(), app.now)
    TaskWorker(db, tasks).drain()
    done = (await Client(app, somebody).ask("GET", where)).json()
    assert (done["done"], done["is_done"]) == (1276, True)
    assert {side.organisation_name for side in db.scan(UserOrganisation)} == {"K8s"}
    assert check(db) == []
