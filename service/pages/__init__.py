"""The pages, rendered on the server: one blueprint per subject."""

from treeline.service.pages import assets, compare, files, functions, home, reference, search

PAGES = (
    home.blueprint,
    search.blueprint,
    compare.blueprint,
    functions.blueprint,
    files.blueprint,
    home.evaluation_blueprint,
    reference.blueprint,
    assets.blueprint,
)
