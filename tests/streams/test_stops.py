"""Which records a worker that is to stop still begins with: those before one that has begun, and no others."""

from __future__ import annotations

import threading  # noqa: TID251
from datetime import UTC, datetime

import pytest

from singletable.streams import Changes
from singletable.streams.shard import HeldShard
from tests.streams.models import noted


@pytest.fixture
def shard() -> HeldShard:
    lease = Changes(noted).consumer.state.lease(
        consumer="c", stream="s", shard="1", made_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    return HeldShard(lease, renewed_at=0.0, stream="s")


def test_none_is_allowed_after_an_earlier_one_was_refused(shard: HeldShard) -> None:
    assert [shard.allows(sequence, lambda: True) for sequence in ("1", "3")] == [True, True]
    asked = {sequence: shard.allows(sequence, lambda: False) for sequence in ("4", "6", "5", "2")}
    assert asked == {"4": False, "6": False, "5": False, "2": True}


def test_what_was_allowed_counts_in_the_rounds_after_it(shard: HeldShard) -> None:
    shard.allows("3", lambda: True)
    shard.allows("1", lambda: True)
    assert shard.allows("2", lambda: False)


def test_an_earlier_one_waits_for_the_answer_to_a_later_one(shard: HeldShard) -> None:
    """The worker is to stop while a later record is being allowed: the earlier one is allowed too."""
    answers: list[bool] = []
    earlier = threading.Thread(target=lambda: answers.append(shard.allows("1", lambda: False)))

    def goes_on() -> bool:
        earlier.start()
        earlier.join(0.05)
        return True

    assert shard.allows("2", goes_on)
    earlier.join()
    assert answers == [True]
