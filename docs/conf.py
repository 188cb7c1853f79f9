"""Sphinx: `sphinx-build -W docs build/docs`. Nothing is fetched from the network."""

import gmatch

project = "gmatch"
author = "the gmatch authors"
version = release = gmatch.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
html_theme = "furo"
html_title = f"gmatch {release}"
exclude_patterns = ["generated/*.txt"]
default_role = "any"  # `name` in a docstring is a link where there is such a name

autosummary_generate = True
autodoc_default_options = {"members": True}
autodoc_typehints = "none"  # the docstrings say it
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()

myst_heading_anchors = 3
