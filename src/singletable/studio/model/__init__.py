"""The model: what a program declares, as values, as a picture, and as pages that need no server.

    view = model_view([shop])          # entities, keys, patterns, relations, documents, tasks, consumers
    diagram_of(view.tables[0])         # boxes in layers, and the lines between them
    write_site(view, Path("docs"))     # complete pages of HTML

Read `views` (the values of pages), `declarations` and `layer_declarations` (their sources), `relations` (between
classes), `layers` (the places of boxes), `diagram` (the drawing), `static_site`. Nothing here sends a request.
"""

from singletable.studio.model.declarations import model_view as model_view
from singletable.studio.model.diagram import Diagram as Diagram, diagram_of as diagram_of
from singletable.studio.model.static_site import write_site as write_site
from singletable.studio.model.views import ClassView as ClassView, ModelView as ModelView, TableView as TableView
