"""The steps that change a setting of a table: tags, protection, backups, billing, encryption, expiry, its stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from singletable.flow import Port
from singletable.foundation import maintain_stream
from singletable.migrations.steps import Applying, Compared, Live, Step, StepPhase
from singletable.tables import (
    Setting,
    TableDefinition,
    apply_setting,
    describe,
    live_settings,
    remove_setting,
    wait_for_table,
)

_STREAM_ENDS = "consumers get what is in the old stream for a day, under its old ARN"
_TTL_WAIT = "DynamoDB takes up to an hour between two changes of it, and refuses the second one until then"


class SetSetting(Step, frozen=True, tag="set"):
    """A setting gets the declared value."""

    @classmethod
    def needed(cls, compared: Compared) -> Iterator[tuple[StepPhase, Step]]:
        live_settings = _live(compared)
        for setting, wanted in wanted_settings(compared.table.definition).items():
            live = live_settings[setting]
            if live is None or wanted == live:
                continue
            if setting == "stream" and live != "off":
                ends = f"end the stream of {live}"
                yield StepPhase.SETTINGS, UnsetSetting(setting, ends, online=False, notes=(_STREAM_ENDS,))
                yield StepPhase.SETTINGS, cls(setting, f"begin a stream of {wanted}")
            elif setting == "TTL" and live != "none":
                yield (
                    StepPhase.SETTINGS,
                    UnsetSetting(setting, f"{live} is no longer the time of expiry", notes=(_TTL_WAIT,)),
                )
                yield StepPhase.SETTINGS, cls(setting, f"{wanted} becomes the time of expiry")
            else:
                yield StepPhase.SETTINGS, cls(setting, f"{wanted}; it was {live}")

    async def run(self, applying: Applying) -> None:
        setting: Setting = self.subject  # type: ignore[assignment]
        raw, _ = await _looked_at(applying)
        await apply_setting(applying.port, applying.table.definition, setting, raw)
        await maintain_stream(applying.bare, applying.table)


class UnsetSetting(Step, frozen=True, tag="unset"):
    """A stream ends, or items no longer expire: alone, or before another one is set."""

    @classmethod
    def needed(cls, compared: Compared) -> Iterator[tuple[StepPhase, Step]]:
        definition, live = compared.table.definition, compared.live.settings
        before: Mapping[str, Any] = compared.record.settings if compared.record is not None else {}
        if definition.ttl_attribute is None and "TTL" in before and live.ttl == before["TTL"]:
            yield StepPhase.OLD_SETTINGS, cls("TTL", f"items no longer expire by {before['TTL']}")
        if definition.stream is None and "stream" in before and live.stream is not None:
            yield StepPhase.OLD_SETTINGS, cls("stream", "end the stream", online=False, notes=(_STREAM_ENDS,))

    async def run(self, applying: Applying) -> None:
        setting: Setting = self.subject  # type: ignore[assignment]
        _, ttl = await _looked_at(applying)
        await remove_setting(applying.port, applying.table.definition, setting, ttl)


def unsupported_settings(compared: Compared) -> list[str]:
    """Declared settings that the engine doesn't have."""
    live = _live(compared)
    return [f"{name}: the engine has none" for name in wanted_settings(compared.table.definition) if live[name] is None]


async def set_declared(port: Port, definition: TableDefinition) -> list[str]:
    """Give a table that was just made each declared setting that it lacks: the stream last. Returns their names.

    Four requests, and two or more for each setting. A setting that the engine doesn't have is left out.
    """
    await wait_for_table(port, definition.name)
    description = await describe(port, definition)
    assert description is not None, "it was waited for"
    live = await live_settings(port, definition, description, recovery=True, tags=True)
    values, given = _live_values(definition, Live(description, live)), list[str]()
    for setting, wanted in wanted_settings(definition).items():
        if values[setting] not in (None, wanted):
            await apply_setting(port, definition, setting, description.raw)
            given.append(setting)
    return given


async def _looked_at(applying: Applying) -> tuple[Mapping[str, Any], str]:
    """The live table as the service describes it, once it is at rest, and its attribute of expiry."""
    await wait_for_table(applying.port, applying.table.name)
    found = await describe(applying.port, applying.table.definition)
    assert found is not None
    return found.raw, found.ttl or ""


def wanted_settings(definition: TableDefinition) -> dict[Setting, str]:
    """The wanted value of each declared setting."""
    settings = definition.settings
    declared: dict[Setting, str | None] = {
        "tags": _tags(settings.tags) if settings.tags else None,
        "deletion protection": _on(definition.deletion_protection),
        "point-in-time recovery": _on(settings.point_in_time_recovery),
        "table class": settings.table_class,
        "billing": None if settings.billing is None else str(settings.billing),
        "encryption key": definition.encryption_key,
        "TTL": definition.ttl_attribute,
        "stream": definition.stream,
    }
    return {name: wanted for name, wanted in declared.items() if wanted is not None}


def _live(compared: Compared) -> dict[Setting, str | None]:
    return _live_values(compared.table.definition, compared.live)


def _live_values(definition: TableDefinition, of: Live) -> dict[Setting, str | None]:
    """The live value of each setting; None if the engine lacks it."""
    live, known = of.settings, of.description
    tags, key = definition.settings.tags, definition.encryption_key
    if not definition.is_encrypted_by(live.encryption_key):
        key = live.encryption_key or "owned by AWS"
    return {
        "tags": None if live.tags is None else _tags({n: v for n, v in live.tags.items() if n in tags}),
        "deletion protection": _on(live.deletion_protection),
        "point-in-time recovery": _on(live.point_in_time_recovery),
        "table class": live.table_class,
        "billing": str(live.billing),
        "encryption key": key if known.knows_encryption else None,
        "TTL": (live.ttl or "none") if known.knows_expiry else None,
        "stream": live.stream or "off",
    }


def _tags(tags: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={tags[name]}" for name in sorted(tags)) or "none"


def _on(setting: bool | None) -> str | None:
    return None if setting is None else "on" if setting else "off"
