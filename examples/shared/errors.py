"""What an application refuses, by what a caller can do about it; each application adds its own below these.

ApplicationError
├── Invalid      the input: a name, a number, a file                           (also ValueError; HTTP 422)
├── Missing      there is none, or none that the caller may know of            (HTTP 404)
└── Refused      the data as it stands says no                                 (HTTP 409)
"""

from __future__ import annotations


class ApplicationError(Exception):
    """The root."""


class Invalid(ApplicationError, ValueError):
    """Input that can't be meant."""


class Missing(ApplicationError):
    """There is none, or none that the caller may know of: front doors tell the two apart nowhere."""


class Refused(ApplicationError):
    """The data, as it stands, says no."""
