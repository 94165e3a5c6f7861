"""The tours of the four applications, in the order of their designs."""

from __future__ import annotations

from goals.tour import TOUR as GOALS
from manhunt.tour import TOUR as MANHUNT
from organisations.tour import TOUR as ORGANISATIONS
from projects.tour import TOUR as PROJECTS

TOURS = (ORGANISATIONS, GOALS, PROJECTS, MANHUNT)
