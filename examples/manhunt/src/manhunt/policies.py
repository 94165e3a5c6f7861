"""The actions on escalation policies."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from manhunt.base import TRIES, WEEK_SECONDS, Base
from manhunt.contacts import check_name
from manhunt.destinations import check_url
from manhunt.errors import Contended, Invalid, NoSuchContact, NoSuchPolicy, NoSuchRota
from manhunt.model import Contact, Link, Policy, Rota, Stage, Target, TargetKind
from singletable import NotFound, Page, TransactionCancelled, VersionMoved, attr
from singletable.records import Transaction

MAX_STAGES = 10
MAX_TARGETS = 10
MAX_REPEATS = 9
MAX_LINKS = 10
EDITED = ("name", "stages", "repeats", "links")


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
        """As `change_policy`, whatever it was."""
        given = {"name": name, "stages": list(stages), "repeats": repeats, "links": list(links)}
        return self.change_policy(domain_id, policy_id, lambda policy: given)

    def change_policy(self, domain_id: str, policy_id: str, changes: Callable[[Policy], Mapping[str, Any]]) -> Policy:
        """What `changes` makes of the policy as it stands, which is held: of two edits at once one begins again.
        Incidents that are open keep their copy. 3 requests. NoSuchPolicy, NoSuchContact, NoSuchRota, Invalid,
        Contended."""
        for _ in range(TRIES):
            policy = self.policy_by_id(domain_id, policy_id)
            said = changes(policy)
            check_policy(**{name: said.get(name, getattr(policy, name)) for name in EDITED})
            updates = [attr(getattr(Policy, name)).set(value) for name, value in said.items()]
            if not updates:
                return policy
            kept = {target for stage in policy.stages for target in stage.targets}
            stages: list[Stage] = said.get("stages", [])
            try:
                with_targets(self, domain_id, stages, lambda tx: tx.update(policy, *updates), kept)  # noqa: B023 run here
            except TransactionCancelled as cancelled:
                if not any(isinstance(failure.error, VersionMoved | NotFound) for failure in cancelled.failures):
                    raise
                continue
            return self.policy_by_id(domain_id, policy_id)
        raise Contended(f"policy {policy_id!r}")

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


def with_targets(
    base: Base,
    domain_id: str,
    stages: Sequence[Stage],
    write: Callable[[Transaction], None],
    kept: Container[Target] = (),
) -> None:
    """A write in one transaction with checks that whom the stages name, but those they named before, is there, and the
    domain's."""
    targets = dict.fromkeys(target for stage in stages for target in stage.targets if target not in kept)
    try:
        with base.db.transaction() as tx:
            write(tx)
            for target in targets:
                if target.kind is TargetKind.CONTACT:
                    tx.check(Contact.by_id(target.id), where=attr(Contact.domain_id) == domain_id)
                else:
                    tx.check(Rota.by_id(target.id), where=attr(Rota.domain_id) == domain_id)
    except TransactionCancelled as cancelled:
        errors: dict[type[Any], type[NoSuchContact | NoSuchRota]] = {Contact: NoSuchContact, Rota: NoSuchRota}
        missing = next((failure.key for failure in cancelled.failures if failure.key.kinds[0] in errors), None)
        if missing is None:
            raise
        raise errors[missing.kinds[0]](missing.partition) from cancelled
