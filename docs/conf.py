"""Sphinx: `sphinx-build -W docs build/docs`. Nothing is fetched from the network."""

import gmatch

project = "gmatch"
author = "the gmatch authors"
version = release = gmatch.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
html_theme = "furo"
html_title = f"gmatch {release}"
templates_path = ["_templates"]
default_role = "autolink"  # of autosummary: `name` is a link if there is such a name, else emphasized

myst_heading_anchors = 3
numpydoc_show_class_members = False
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say what comes in and what goes out
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"

# What a class has beside the attributes in its docstring. Its other methods are for gmatch itself.
PAIRS = "row_ind, col_ind, pairs, unmatched_rows, unmatched_columns, to_frame"
autosummary_context = {
    "shown": {
        "Assignment": f"size, cost, {PAIRS}, witness",
        "AssignmentBatch": "cost, size",
        "BipartiteGraph": "from_networkx",
        "Bottleneck": "size, cost",
        "Decomposition": "horizontal, square, vertical",
        "DenseCosts": "matrix",
        "ExactDuals": "nearest_u, nearest_v",
        "Matching": f"vertex_cover, {PAIRS}",
        "PointCosts": "of_pairs",
        "Scaling": "size, row_scale, col_scale, row_order, apply",
        "SparseCosts": "from_networkx",
        "Status": "OPTIMAL, LIMITED, PARTIAL, PAIRS, BOUNDED",
        "Transport": "flow",
    }
}
