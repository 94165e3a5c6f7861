"""AWS's variables and configuration files: where requests go, and how. `credentials` has the keys.

A variable takes precedence over the profile's setting. `docs/how-to/connect.md` lists them all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property

from singletable.errors import NotConfigured
from singletable.wire.credentials import profile_of

_MODES = ("preferred", "disabled", "required")
_Sections = Mapping[str, Mapping[str, str]]


class AwsSettings:
    """The settings of an environment and of the profile that it names. Files are read when they are first needed.

    Raises `NotConfigured` for a profile that is in no file, and for an invalid file or value.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ

    def text(self, variable: str, setting: str) -> str | None:
        """The variable, else the profile's setting; None if both are missing or empty."""
        return self.environ.get(variable) or self.profile.get(setting) or None

    def flag(self, variable: str, setting: str) -> bool:
        text = self.text(variable, setting)
        if text is None or text.lower() in ("true", "false"):
            return text is not None and text.lower() == "true"
        raise _unreadable(variable, setting, "neither true nor false")

    def count(self, variable: str, setting: str) -> int | None:
        """A number of 1 or more."""
        text = self.text(variable, setting)
        if text is None or (text.isdecimal() and int(text) >= 1):
            return int(text) if text else None
        raise _unreadable(variable, setting, "not a number of 1 or more")

    @property
    def region(self) -> tuple[str | None, str]:
        """The region, and where it is set: as in botocore, AWS_DEFAULT_REGION first; AWS_REGION, of the other SDKs,
        precedes the profile."""
        for variable in ("AWS_DEFAULT_REGION", "AWS_REGION"):
            if name := self.environ.get(variable):
                return name, variable
        return self.profile.get("region") or None, f"the AWS profile {profile_of(self.environ) or 'default'}"

    @property
    def account_mode(self) -> str:
        """The use of an account's own address of DynamoDB: preferred, disabled or required."""
        mode = (self.text("AWS_ACCOUNT_ID_ENDPOINT_MODE", "account_id_endpoint_mode") or _MODES[0]).lower()
        if mode not in _MODES:
            raise _unreadable(
                "AWS_ACCOUNT_ID_ENDPOINT_MODE", "account_id_endpoint_mode", f"none of {', '.join(_MODES)}"
            )
        return mode

    def endpoint_url(self, service: str) -> str | None:
        """An address that is configured for a service: `dynamodb`, `dynamodb_streams`, `sqs`."""
        if self.flag("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "ignore_configured_endpoint_urls"):
            return None
        environ = self.environ
        named = environ.get(f"AWS_ENDPOINT_URL_{service.upper()}") or environ.get("AWS_ENDPOINT_URL")
        url = named or self._services.get(service, {}).get("endpoint_url") or self.profile.get("endpoint_url")
        return url or None

    @cached_property
    def profile(self) -> Mapping[str, str]:
        """The settings of the profile, from both files; the credentials file takes precedence."""
        named = profile_of(self.environ)
        name = named or "default"
        plain = name == "default" and name in self._config  # any other is [profile name] there
        sections = [self._config[name]] if plain else []
        sections += [self._config[title] for title in self._titles("profile", name)]
        sections += [self._credentials[name]] if name in self._credentials else []
        if named is not None and not sections:
            raise NotConfigured(
                f"the AWS profile {name!r}, which the environment names, does not exist",
                hint="Correct AWS_PROFILE, or add the profile to the AWS configuration file",
            )
        return {key: value for section in sections for key, value in section.items()}

    @cached_property
    def _services(self) -> Mapping[str, Mapping[str, str]]:
        name = self.profile.get("services")
        if not name:
            return {}
        sections = [self._config[title] for title in self._titles("services", name)]
        if not sections:
            raise NotConfigured(
                f"The AWS profile names services {name!r}, and the configuration file has no section of it",
                hint=f"Add [services {name}], or take `services` out of the profile",
            )
        return {key: _nested(value) for key, value in sections[0].items()}

    def _titles(self, kind: str, name: str) -> list[str]:
        """The sections of the configuration file that are `[kind name]`, with or without quotes."""
        return [
            title
            for title in self._config
            if title.partition(" ")[0] == kind and title.partition(" ")[2].strip(" '\"\t") == name
        ]

    @cached_property
    def _config(self) -> _Sections:
        return self._read("AWS_CONFIG_FILE", "config")

    @cached_property
    def _credentials(self) -> _Sections:
        return self._read("AWS_SHARED_CREDENTIALS_FILE", "credentials")

    def _read(self, variable: str, name: str) -> _Sections:
        named = self.environ.get(variable)
        path = self._at_home(named if named else os.path.join("~", ".aws", name))
        if path is None or not os.path.exists(path):
            return {}
        from configparser import Error, RawConfigParser  # noqa: PLC0415 3 ms, where there is a file only

        parser = RawConfigParser(default_section="\0", interpolation=None)
        try:
            with open(path, encoding="utf-8") as file:
                parser.read_file(file)
        except (OSError, UnicodeDecodeError, Error) as fault:
            # The error's text quotes the line, which may hold a key.
            raise NotConfigured(
                f"The AWS file {path} can't be read: {type(fault).__name__}",
                hint=f"Correct it, or name another as {variable}",
            ) from None
        return {title: dict(parser[title]) for title in parser.sections()}

    def _at_home(self, path: str) -> str | None:
        """The path with `~` expanded; None if the environment names no home."""
        environ = self.environ
        if not path.startswith("~"):
            return path
        home = environ.get("HOME") or environ.get("USERPROFILE")
        if not home and environ is os.environ:
            home = os.path.expanduser("~")
        return home + path[1:] if home else None


def _nested(value: str) -> Mapping[str, str]:
    """Lines of `name = value` below a setting."""
    pairs = (line.partition("=") for line in value.splitlines() if "=" in line)
    return {key.strip(): text.strip() for key, _, text in pairs}


def _unreadable(variable: str, setting: str, why: str) -> NotConfigured:
    return NotConfigured(f"{variable}, or {setting} of the AWS profile, is {why}", hint="Correct it, or unset it")
