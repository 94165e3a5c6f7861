"""The tours of the four applications, in the order of their designs."""

from __future__ import annotations

from examples.goals.tour import TOUR as GOALS
from examples.manhunt.tour import TOUR as MANHUNT
from examples.organisations.tour import TOUR as ORGANISATIONS
from examples.projects.tour import TOUR as PROJECTS

TOURS = (ORGANISATIONS, GOALS, PROJECTS, MANHUNT)
