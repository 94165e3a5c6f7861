"""The model of a program, for the program `singletable`: as values, and as pages that need no server."""

from singletable.studio.model import model_view as model_view, write_site as write_site
