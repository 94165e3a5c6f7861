"""Incidents: stages, answers, snoozes, reassignment and deduplication, by a clock that is set."""

from __future__ import annotations

from datetime import timedelta

import pytest

from examples.manhunt.tests.oncall import (
    DAY,
    alarm,
    at,
    hunted,
    incident_now,
    names_of_messages,
    on,
    person,
    policy_of,
    rota_of,
    searches_of,
    story,
)
from examples.manhunt.tests.support import DOMAIN, OTHER, World
from manhunt.errors import AlreadyEnded, Invalid, Missing, NotNow
from manhunt.incident_changes import NO_ANSWER, NOBODY, NOBODY_NEW
from manhunt.model import Delivery, IncidentStatus, Kind, Status, tasks


def test_each_stage_begins_when_nobody_answered_in_time_and_the_last_ends_it(world: World) -> None:
    ada, grace, edsger = (person(world, name) for name in ("Ada", "Grace", "Edsger"))
    policy = policy_of(world, ([at(ada)], 300), ([at(grace), at(edsger)], 200), repeats=1)
    incident = alarm(world, policy)
    world.drain()
    assert names_of_messages(world) == ["Ada"]
    world.later(299)
    assert hunted(world, incident) == ["Ada"]
    world.later(1)
    assert hunted(world, incident) == ["Ada", "Edsger", "Grace"]
    assert sorted(names_of_messages(world)) == ["Ada", "Edsger", "Grace"]
    world.later(200)
    assert incident_now(world, incident).lap == 1
    assert len(names_of_messages(world)) == 3, "whoever is hunted is not hunted twice"
    world.later(300)
    world.later(200)
    ended = incident_now(world, incident)
    assert (ended.status, ended.ended_at) == (IncidentStatus.UNANSWERED, incident.opened_at + timedelta(seconds=1000))
    assert story(world, incident) == ["opened", "escalated", "escalated", "escalated", "unanswered"]
    assert hunted(world, incident) == []
    sent = len(world.outbox.sent)
    world.later(DAY)
    assert len(world.outbox.sent) == sent
    assert incident_now(world, incident) == ended


def test_an_answer_acknowledges_the_incident_and_stops_all_of_its_searches(world: World) -> None:
    ada = person(world, "Ada", (Kind.EMAIL, 0), (Kind.SMS, 60))
    grace = person(world, "Grace", (Kind.EMAIL, 0), (Kind.SMS, 60))
    incident = alarm(world, policy_of(world, ([at(ada), at(grace)], 300)))
    world.drain()
    first, second = searches_of(world, incident)
    answered = world.app.answer(first.search_id, 0, how="link", said="on my way")
    assert answered.status is Status.ANSWERED
    found = incident_now(world, incident)
    assert (found.status, found.held_by) == (IncidentStatus.ACKNOWLEDGED, first.contact_name)
    with pytest.raises(AlreadyEnded, match="acknowledged"):
        world.app.answer(second.search_id, 0, how="link")
    world.later(DAY)
    assert len(world.outbox.sent) == 2
    stood_down = world.now(second)
    assert stood_down.status is Status.CANCELLED
    assert stood_down.resolution is not None
    assert stood_down.resolution.how == "the incident is acknowledged"
    details = world.app.incident_with_all(DOMAIN, incident.incident_id)
    assert [(each.name, each.did) for each in details.people] == [(first.contact_name, "acknowledged")]
    assert details.reactions[-1].said == "link: on my way"
    resolved = world.app.resolve(DOMAIN, incident.incident_id, by="Grace", said="a new lamp")
    assert (resolved.status, resolved.held_by) == (IncidentStatus.RESOLVED, "Grace")
    with pytest.raises(NotNow, match="resolved by Grace"):
        world.app.acknowledge(DOMAIN, incident.incident_id, by="Eve")


def test_nothing_goes_out_after_the_acknowledgement_though_the_searches_are_still_active(world: World) -> None:
    """The steps and messages of a search hold that its incident hunts: they don't wait for it to be stood down."""
    ada = person(world, "Ada", (Kind.EMAIL, 0), (Kind.SMS, 60))
    incident = alarm(world, policy_of(world, ([at(ada)], 300)))
    (search,) = searches_of(world, incident)
    world.escalation.begin(search)
    world.app.acknowledge(DOMAIN, incident.incident_id, by="Grace")
    world.drain()
    assert world.outbox.sent == []
    assert world.now(search).status is Status.CANCELLED


def test_what_was_put_off_for_an_incident_that_is_over_is_done_at_once(world: World) -> None:
    """A task that fails is tried again, for days: one whose time is past has nothing to do, and has not failed."""
    incident = alarm(world, policy_of(world, ([at(person(world, "Ada"))], 300)))
    world.app.snooze(DOMAIN, incident.incident_id, by="Grace", seconds=400)
    world.app.resolve(DOMAIN, incident.incident_id, by="Grace")
    world.later(DAY)
    assert list(world.db.scan(tasks.entity, consistent=True)) == []


def test_two_alarms_of_one_incident_hunt_nobody_twice(world: World) -> None:
    ada = person(world, "Ada")
    policy = policy_of(world, ([at(ada)], 300))
    opened = [world.app.open_incident(DOMAIN, policy.policy_id, "dark", alarm_key="lamp") for _ in range(3)]
    assert [each.is_new for each in opened] == [True, False, False]
    assert len({each.incident.incident_id for each in opened}) == 1
    assert opened[-1].incident.alarms == 3
    world.drain()
    assert names_of_messages(world) == ["Ada"]
    world.app.resolve(DOMAIN, opened[0].incident.incident_id, by="Grace")
    again = world.app.open_incident(DOMAIN, policy.policy_id, "dark again", alarm_key="lamp")
    assert again.is_new
    other = policy_of(world, ([at(ada)], 300))
    assert not world.app.open_incident(DOMAIN, other.policy_id, "x", alarm_key="lamp").is_new
    known = world.app.incident_of_alarm(DOMAIN, "lamp")
    assert known is not None
    assert known.incident_id == again.incident.incident_id
    assert world.app.incident_of_alarm(OTHER, "lamp") is None


def test_who_is_needed_is_resolved_when_a_stage_begins_and_stays(world: World) -> None:
    ada, grace, edsger = (person(world, name) for name in ("Ada", "Grace", "Edsger"))
    rota = rota_of(world, ada, grace, turn_seconds=DAY)
    policy = policy_of(world, ([on(rota)], 300), ([on(rota)], 300))
    incident = alarm(world, policy)
    world.app.change_rota(DOMAIN, rota.rota_id, members=[edsger.contact_id])
    world.drain()
    assert hunted(world, incident) == ["Ada"]
    world.later(300)
    assert hunted(world, incident) == ["Ada", "Edsger"]
    links = world.app.incident_with_all(DOMAIN, incident.incident_id).searches
    assert sorted((link.stage, link.rota_revision) for link in links) == [(0, rota.revision), (1, rota.revision + 1)]


def test_an_override_stands_in_for_its_time(world: World) -> None:
    ada, grace = person(world, "Ada"), person(world, "Grace")
    rota = rota_of(world, ada)
    now = world.app.now()
    override = world.app.add_override(DOMAIN, rota.rota_id, grace.contact_id, now, now + timedelta(hours=1))
    policy = policy_of(world, ([on(rota)], 300))
    assert hunted(world, alarm(world, policy)) == ["Grace"]
    world.clock.forward(3600)
    assert hunted(world, alarm(world, policy)) == ["Ada"]
    world.clock.forward(-1800)
    world.app.delete_override(DOMAIN, rota.rota_id, override.override_id)
    assert hunted(world, alarm(world, policy)) == ["Ada"]


def test_a_snooze_ends_the_hunt_and_begins_it_anew(world: World) -> None:
    ada = person(world, "Ada")
    incident = alarm(world, policy_of(world, ([at(ada)], 300)))
    world.drain()
    world.app.snooze(DOMAIN, incident.incident_id, by="Grace", seconds=3600)
    world.later(3599)
    assert (hunted(world, incident), len(world.outbox.sent)) == ([], 1)
    world.later(1)
    assert (hunted(world, incident), len(world.outbox.sent)) == (["Ada"], 2)
    world.app.snooze(DOMAIN, incident.incident_id, by="Grace", seconds=3600)
    world.app.acknowledge(DOMAIN, incident.incident_id, by="Grace")
    world.later(DAY)
    assert len(world.outbox.sent) == 2
    assert story(world, incident) == ["opened", "snoozed", "resumed", "snoozed", "acknowledged"]


def test_a_reassigned_incident_looks_for_others_and_then_goes_through_its_stages(world: World) -> None:
    ada, grace = person(world, "Ada"), person(world, "Grace")
    incident = alarm(world, policy_of(world, ([at(ada)], 300)))
    world.drain()
    world.app.reassign(DOMAIN, incident.incident_id, [at(grace)], by="Ada", wait_seconds=100)
    world.drain()
    assert hunted(world, incident) == ["Grace"]
    world.later(100)
    assert hunted(world, incident) == ["Ada", "Grace"]
    assert names_of_messages(world) == ["Ada", "Grace", "Ada"]
    with pytest.raises(Missing):
        world.app.reassign(DOMAIN, incident.incident_id, [at(world.app.create_contact(OTHER, "Eve"))], by="Ada")
    silent = world.app.create_contact(DOMAIN, "Silent")
    with pytest.raises(Invalid, match="nobody can be reached"):
        world.app.reassign(DOMAIN, incident.incident_id, [at(silent)], by="Ada")
    assert hunted(world, incident) == ["Ada", "Grace"]


def test_stages_that_reach_nobody_are_passed_over(world: World) -> None:
    silent, ada, gone = world.app.create_contact(DOMAIN, "Silent"), person(world, "Ada"), person(world, "Gone")
    policy = policy_of(world, ([at(silent)], 300), ([at(gone)], 300), ([at(ada)], 300))
    world.app.delete_contact(DOMAIN, gone.contact_id)
    incident = alarm(world, policy)
    assert (hunted(world, incident), incident.stage) == (["Ada"], 2)
    nobody = policy_of(world, ([at(silent)], 300))
    failed = alarm(world, nobody, key="x")
    assert (failed.status, failed.ended_at) == (IncidentStatus.UNANSWERED, failed.opened_at)
    (reaction,) = world.app.incident_with_all(DOMAIN, failed.incident_id).reactions
    assert NOBODY in reaction.said
    assert world.app.incident_of_alarm(DOMAIN, "x") is None


def test_a_stage_of_people_who_are_looked_for_already_is_passed_over(world: World) -> None:
    """Stage 2 names who is on call in stage 1: no time goes by in which nobody new is looked for."""
    ada, grace, edsger = (person(world, name) for name in ("Ada", "Grace", "Edsger"))
    rota = rota_of(world, ada)
    policy = policy_of(world, ([on(rota)], 100), ([at(ada)], 5000), ([on(rota), at(grace)], 200), ([at(edsger)], 300))
    incident = alarm(world, policy)
    world.drain()
    world.later(100)
    assert (hunted(world, incident), incident_now(world, incident).stage) == (["Ada", "Grace"], 2)
    assert names_of_messages(world) == ["Ada", "Grace"]
    world.later(200)
    assert hunted(world, incident) == ["Ada", "Edsger", "Grace"]
    said = [each.said for each in world.app.incident_with_all(DOMAIN, incident.incident_id).reactions]
    assert said == ["looking for Ada", "looking for Grace", "looking for Edsger"]


def test_where_nobody_new_is_left_those_who_are_looked_for_may_still_answer(world: World) -> None:
    """The last stage is not passed over into the end: it says why nobody is looked for, and waits."""
    ada = person(world, "Ada")
    incident = alarm(world, policy_of(world, ([at(ada)], 100), ([on(rota_of(world, ada))], 200), repeats=1))
    world.drain()
    world.later(100)
    found = incident_now(world, incident)
    assert (found.status, found.lap, found.stage) == (IncidentStatus.HUNTING, 0, 1)
    details = world.app.incident_with_all(DOMAIN, incident.incident_id)
    assert details.reactions[-1].said == NOBODY_NEW
    (search,) = searches_of(world, incident)
    world.app.answer(search.search_id, 0, how="link")
    assert incident_now(world, incident).status is IncidentStatus.ACKNOWLEDGED


def test_the_end_of_a_hunt_says_whether_nobody_answered_or_nobody_could_be_reached(world: World) -> None:
    ada = person(world, "Ada")
    policy = policy_of(world, ([at(ada)], 100))
    silent, snoozed = alarm(world, policy), alarm(world, policy)
    world.app.snooze(DOMAIN, snoozed.incident_id, by="Grace", seconds=300)
    world.drain()
    (method,) = world.app.contact_with_methods(DOMAIN, ada.contact_id).methods
    world.app.change_method(DOMAIN, ada.contact_id, method.method_id, enabled=False)
    world.later(1000)
    reasons = [
        world.app.incident_with_all(DOMAIN, each.incident_id).reactions[-1].said
        for each in (silent, snoozed, alarm(world, policy))
    ]
    assert reasons[0] == NO_ANSWER
    assert reasons[1].startswith(NOBODY)
    assert reasons[2].startswith(NOBODY)


def test_an_answer_that_comes_after_a_search_failed_counts_while_its_incident_hunts(world: World) -> None:
    ada, grace = person(world, "Ada"), person(world, "Grace")
    incident = alarm(world, policy_of(world, ([at(ada)], 700), ([at(grace)], 700)))
    world.drain()
    world.later(600)
    (search,) = searches_of(world, incident)
    assert search.status is Status.FAILED
    world.later(100)
    assert hunted(world, incident) == ["Grace"]
    world.app.answer(search.search_id, 0, how="link")
    found = incident_now(world, incident)
    assert (found.status, found.held_by) == (IncidentStatus.ACKNOWLEDGED, "Ada")
    assert world.now(search).status is Status.FAILED
    world.drain()
    assert hunted(world, incident) == []
    with pytest.raises(AlreadyEnded):
        world.app.answer(search.search_id, 0, how="link")


def test_another_domains_incident_is_missing(world: World) -> None:
    incident = alarm(world, policy_of(world, ([at(person(world, "Ada"))], 300)))
    id = incident.incident_id
    for ask in (
        lambda: world.app.incident_with_all(OTHER, id),
        lambda: world.app.acknowledge(OTHER, id, by="eve"),
        lambda: world.app.snooze(OTHER, id, by="eve", seconds=60),
        lambda: world.app.resolve(OTHER, id, by="eve"),
        lambda: world.app.add_resource(OTHER, id, "x", "https://example.org/"),
        lambda: world.app.open_incident(OTHER, incident.policy_id, "x"),
    ):
        with pytest.raises(Missing):
            ask()


def test_messages_that_were_claimed_before_the_end_are_settled(world: World) -> None:
    ada = person(world, "Ada")
    incident = alarm(world, policy_of(world, ([at(ada)], 300)))

    def acknowledge(message: object) -> None:
        world.app.acknowledge(DOMAIN, incident.incident_id, by="Grace")

    world.outbox.before = acknowledge
    world.drain()
    (search,) = searches_of(world, incident)
    assert [attempt.delivery for attempt in world.attempts(search)] == [Delivery.SENT]
