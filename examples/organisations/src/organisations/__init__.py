"""Organisations: users register, create organisations, invite others, and put them in groups. See README.md.

Begin with `model`, which declares the records; `service` holds every action; `api` and `cli` are the front doors.
"""

from organisations.model import organisations
from organisations.service import Service

__all__ = ["Service", "organisations"]
