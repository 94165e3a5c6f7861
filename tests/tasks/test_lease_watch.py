"""What a worker has seen of leases: it keeps what is still shown, whatever else there is, and not more."""

from __future__ import annotations

from singletable.tasks.lease_watch import LeaseWatch


def test_a_dead_lease_is_over_beside_many_that_end() -> None:
    """A busy table: 200 short tasks of other workers at each look, each seen once."""
    watch = LeaseWatch(60.0)
    for second in range(61):
        left = watch.left("dead", "end", 60.0, float(second))
        assert left == 60.0 - second
        for number in range(200):
            watch.left(f"short {second} {number}", "end", 60.0, float(second))


class Counting(LeaseWatch):
    forgot = 0

    def _forget(self, now: float) -> None:
        self.forgot += 1
        super()._forget(now)


def test_a_look_at_many_that_live_stays_cheap() -> None:
    watch = Counting(60.0)
    for number in range(7000):
        watch.left(f"live {number}", "end", 60.0, 1.0)
    assert (watch.forgot, len(watch)) == (1, 7000)


def test_what_is_not_shown_any_more_is_forgotten() -> None:
    watch, most = LeaseWatch(60.0), 0
    for second in range(0, 12_000, 6):
        for number in range(20):
            watch.left(f"short {second} {number}", "begun", 10.0, float(second))
            watch.left(f"short {second} {number}", "extended", 10.0, float(second + 1))
        most = max(most, len(watch))
    assert most <= 5000
    assert not watch.is_alive("short 0 0")
    assert watch.is_alive("short 11994 19")
