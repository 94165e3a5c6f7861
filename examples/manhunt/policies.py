"""The actions on escalation policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from examples.manhunt.base import WEEK_SECONDS, Base
from examples.manhunt.contacts import check_name
from examples.manhunt.destinations import check_url
from examples.manhunt.errors import Invalid, Missing, NoSuchContact, NoSuchPolicy, NoSuchRota
from examples.manhunt.model import Contact, Link, Policy, Rota, Stage, TargetKind
from singletable import Page, TransactionCancelled, attr
from singletable.records import Transaction

MAX_STAGES = 10
MAX_TARGETS = 10
MAX_REPEATS = 9
MAX_LINKS = 10


@dataclass(frozen=True)
class Policies(Base):
    """Who is looked for in which order. A policy is one item."""

    def create_policy(
        self, domain_id: str, name: str, stages: Sequence[Stage], *, repeats: int = 0, links: Sequence[Link] = ()
    ) -> Policy:
        """1 request: a transaction with a check of each contact and rota. NoSuchContact, NoSuchRota, Invalid."""
        check_policy(name, stages, repeats, links)
        policy = Policy(
            policy_id=self.new_id(),
            domain_id=domain_id,
            name=name,
            stages=list(stages),
            repeats=repeats,
            links=list(links),
        )
        with_targets(self, domain_id, stages, lambda tx: tx.create(policy))
        return policy

    def policy_by_id(self, domain_id: str, policy_id: str) -> Policy:
        """As it was last written. 1 request, 1 R for each 4 KB. NoSuchPolicy."""
        found = self.db.get(Policy.by_id(policy_id).consistent())
        if found is None or found.domain_id != domain_id:
            raise NoSuchPolicy(policy_id)
        return found

    def policies_of_domain(self, domain_id: str, *, limit: int = 25, after: str | None = None) -> Page[Policy]:
        """By name. 1 request: 0.5 R for each 4 KB of the page."""
        return self.db.page(Policy.by_domain(domain_id), limit=limit, after=after, principal=domain_id)

    def replace_policy(
        self,
        domain_id: str,
        policy_id: str,
        name: str,
        stages: Sequence[Stage],
        *,
        repeats: int = 0,
        links: Sequence[Link] = (),
    ) -> Policy:
        """Incidents that are open keep their copy. 2 requests. NoSuchPolicy, NoSuchContact, NoSuchRota, Invalid."""
        check_policy(name, stages, repeats, links)
        policy = self.policy_by_id(domain_id, policy_id)
        updates = (
            attr(Policy.name).set(name),
            attr(Policy.stages).set(list(stages)),
            attr(Policy.repeats).set(repeats),
            attr(Policy.links).set(list(links)),
        )
        key = Policy.by_id(policy.policy_id)
        own = attr(Policy.domain_id) == domain_id
        with_targets(self, domain_id, stages, lambda tx: tx.update(key, *updates, where=own))
        return self.policy_by_id(domain_id, policy_id)

    def delete_policy(self, domain_id: str, policy_id: str) -> None:
        """Incidents that are open go on by their copy. 2 requests. NoSuchPolicy."""
        self.db.delete(Policy.by_id(self.policy_by_id(domain_id, policy_id).policy_id))


def check_policy(name: str, stages: Sequence[Stage], repeats: int, links: Sequence[Link]) -> None:
    check_name(name)
    if not 0 < len(stages) <= MAX_STAGES:
        raise Invalid(f"a policy has 1 to {MAX_STAGES} stages", "stage-0")
    for place, stage in enumerate(stages):
        check_stage(stage, f"stage-{place}", f"wait-{place}")
    if not 0 <= repeats <= MAX_REPEATS:
        raise Invalid(f"a policy is repeated up to {MAX_REPEATS} times", "repeats")
    if len(links) > MAX_LINKS:
        raise Invalid(f"a policy has up to {MAX_LINKS} links", "links")
    for link in links:
        check_link(link, "links", "links")


def check_stage(stage: Stage, targets: str, wait: str) -> None:
    """The two names are those of the fields."""
    if not 0 < len(stage.targets) <= MAX_TARGETS:
        raise Invalid(f"a stage has 1 to {MAX_TARGETS} contacts and rotas", targets)
    if not 1 <= stage.wait_seconds <= WEEK_SECONDS:
        raise Invalid(f"a stage waits 1 to {WEEK_SECONDS} seconds, which is a week", wait)


def check_link(link: Link, title: str, url: str) -> None:
    """As `check_stage`."""
    check_name(link.title, title)
    check_url(link.url, url)


def with_targets(base: Base, domain_id: str, stages: Sequence[Stage], write: Callable[[Transaction], None]) -> None:
    """A write in one transaction with checks that whom the stages name is there, and the domain's."""
    targets = dict.fromkeys(target for stage in stages for target in stage.targets)
    try:
        with base.db.transaction() as tx:
            write(tx)
            for target in targets:
                if target.kind is TargetKind.CONTACT:
                    tx.check(Contact.by_id(target.id), where=attr(Contact.domain_id) == domain_id)
                else:
                    tx.check(Rota.by_id(target.id), where=attr(Rota.domain_id) == domain_id)
    except TransactionCancelled as cancelled:
        raise _missing(cancelled) from cancelled


def _missing(cancelled: TransactionCancelled) -> Missing:
    key = cancelled.failures[0].key
    errors = {Contact: NoSuchContact, Rota: NoSuchRota, Policy: NoSuchPolicy}
    return errors[key.kinds[0]](key.partition)
