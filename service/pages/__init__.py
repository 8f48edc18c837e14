"""The pages, rendered on the server: one blueprint a subject."""

from treeline.service.pages import assets, evaluation, functions, home, reference, search

PAGES = (home, search, functions, evaluation, reference, assets)
