"""What a run says before it asks, and at its end."""

from __future__ import annotations

from collections.abc import Mapping

from tools.aws.account import Account
from tools.aws.counting import Count, total
from tools.aws.names import FAMILY, TAG
from tools.aws.plan import Plan
from tools.aws.prediction import NEAR, is_near


def announcement(account: Account, number: str, run_id: str, plan: Plan) -> str:
    """What is said before anything is made."""
    predicted, prices = plan.predicted, plan.prices
    note = f"\n             {prices.note}" if prices.note else ""
    return (
        f"account      {number} in {account.region}, {account.endpoint or 'AWS'}\n"
        f"makes        {predicted.tables:,} tables, {predicted.queues:,} queues, {predicted.buckets:,} buckets,"
        f" one after the other; each is named {FAMILY}{run_id}-..., tagged {TAG}={run_id}, and deleted\n"
        f"runs         {len(plan.files)} test files, {predicted.requests:,} requests\n"
        f"reads        {predicted.read_units:,.1f} units\n"
        f"writes       {predicted.write_units:,.1f} units, and {predicted.unreported_units:,.0f} of refused writes\n"
        f"streams      {predicted.stream_reads:,} reads; SQS: {predicted.queue_requests:,} requests;"
        f" S3: {predicted.object_writes:,} writes, {predicted.object_reads:,} reads\n"
        f"money        ${prices.money(predicted):,.4f} at the prices published by {prices.as_of}, on demand:"
        f" an estimate{note}\n"
        f"stops at     {plan.cap:,.0f} units or ${plan.cap_money:,.4f}"
    )


def summary(plan: Plan, spent: Count, seconds: float) -> str:
    """What was used, beside what was predicted."""
    lines = [f"{'':<12} {'predicted':>12} {'counted':>12}   after {seconds:,.0f} s"]
    for name, expected, counted in (
        ("requests", plan.predicted.requests, spent.requests),
        ("read units", plan.predicted.read_units, spent.read_units),
        ("write units", plan.predicted.write_units, spent.write_units),
        ("units", plan.predicted.units, spent.units),
    ):
        lines.append(f"{name:<12} {expected:>12,.1f} {counted:>12,.1f}   {_difference(expected, counted)}")
    money = plan.prices.money
    lines.append(f"{'money':<12} {money(plan.predicted):>12,.4f} {money(spent):>12,.4f}   dollars")
    return "\n".join(lines)


def differences(plan: Plan, spent: Mapping[str, Count]) -> str:
    """Whether the prediction was near, and the test files that used otherwise, the furthest off first."""
    used = {file: spent.get(file, Count()) for file in plan.files}
    off = [file for file in plan.files if not is_near(plan.by_file[file], used[file])]
    off.sort(key=lambda file: -abs(used[file].units - plan.by_file[file].units))
    near = is_near(plan.predicted, total(spent.values()))
    lines = [
        f"predicted within {NEAR:.0%}" if near else f"NOT predicted within {NEAR:.0%}: python -m tools.aws count",
        f"{len(plan.files) - len(off)} of {len(plan.files)} test files used what was predicted of them",
        *(_otherwise(file, plan.by_file[file], used[file]) for file in off),
    ]
    return "\n".join(lines)


def clean_command(endpoint: str, region: str) -> str:
    """What deletes what a run has left, at its place."""
    return f"python -m tools.aws clean{f' --endpoint {endpoint}' if endpoint else ''} --region {region}"


def _otherwise(file: str, predicted: Count, used: Count) -> str:
    return (
        f"{file}: {predicted.units:,.1f} units and {predicted.requests:,} requests predicted,"
        f" {used.units:,.1f} and {used.requests:,} used"
    )


def _difference(expected: float, counted: float) -> str:
    return f"{(expected - counted) / counted:+.2%}" if counted else ""
