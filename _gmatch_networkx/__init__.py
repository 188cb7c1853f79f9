"""What networkx reads of its backend gmatch whenever it is imported: apart from gmatch, whose import takes longer."""

from typing import Any

FUNCTIONS = {
    "hopcroft_karp_matching": "Also as maximum_matching. By gmatch.max_matching, which has no recursion.",
    "eppstein_matching": "The same as hopcroft_karp_matching.",
    "to_vertex_cover": "A matching that is not maximum is completed first, so that the cover is always a smallest one.",
    "minimum_weight_full_matching": "By gmatch.lap along the edges: no dense matrix is made. Integers are exact.",
    "max_weight_matching": "Of bipartite graphs, by gmatch.lap. Integers are exact.",
    "min_weight_matching": "Of bipartite graphs, by gmatch.lap. Integers are exact.",
}


def get_info() -> dict[str, Any]:
    """As the entry points of the group networkx.backend_info describe a backend."""
    return {
        "backend_name": "gmatch",
        "project": "gmatch",
        "package": "gmatch_bipartite",
        "url": "https://pypi.org/project/gmatch-bipartite/",
        "short_summary": "Exact matching of bipartite graphs, compiled.",
        "description": "Takes graphs without directions and parallel edges.",
        "functions": {name: {"additional_docs": words} for name, words in FUNCTIONS.items()},
    }
