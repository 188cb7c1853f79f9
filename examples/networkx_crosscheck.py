"""gmatch beside networkx: the same sizes, and covers that prove them, on small matrices and random graphs.

networkx has two algorithms, of Hopcroft and Karp and of Eppstein, and makes a vertex cover from a matching. Which edges
are matched may differ, as may the covers; their sizes may not.

    python examples/networkx_crosscheck.py
    python examples/networkx_crosscheck.py --graphs 500

Small graphs only: networkx recurses along augmenting paths, and long ones are too deep for Python.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Hashable, Iterable, Iterator

import networkx as nx
from networkx.algorithms import bipartite

import gmatch

MOST_VERTICES = 500


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare gmatch with networkx.")
    parser.add_argument("--graphs", type=int, default=50, metavar="N", help="random graphs to try (default: 50)")
    random_graphs = [random_graph(seed) for seed in range(parser.parse_args().graphs)]
    print(f"{'graph':<32} {'vertices':>8} {'edges':>6} {'gmatch':>7} {'hopcroft':>9} {'eppstein':>9} {'covers':>11}")
    wrong = sum(not agree(name, graph) for name, graph in (*small_matrices(), *random_graphs))
    print(f"\n{wrong} disagree" if wrong else "\nall agree")
    return 1 if wrong else 0


def small_matrices() -> Iterator[tuple[str, nx.Graph]]:
    """The small ones that come with gmatch, as networkx graphs: rows are 0, 1, ...; columns follow."""
    for entry in gmatch.datasets.bundled():
        matrix = gmatch.datasets.load(entry.name)
        if sum(matrix.shape) <= MOST_VERTICES:
            yield entry.name, bipartite.from_biadjacency_matrix(matrix)


def random_graph(seed: int) -> tuple[str, nx.Graph]:
    """From nearly empty to rather full, with more rows than columns or the other way round."""
    rows, columns = 20 + 37 * seed % 81, 20 + 53 * seed % 81
    degree = 0.5 + seed % 8
    graph = bipartite.random_graph(rows, columns, degree / columns, seed=seed)
    return f"random {rows} x {columns}, degree {degree:.1f}", graph


def agree(name: str, graph: nx.Graph) -> bool:
    """Whether the three matchings and the two covers have one size, and each cover is one."""
    top_nodes = [node for node, side in graph.nodes(data="bipartite") if side == 0]
    ours = gmatch.BipartiteGraph.from_networkx(graph, top_nodes)
    matching = gmatch.max_matching(ours)
    cover = cover_of(ours, matching)
    # networkx returns every edge twice, once from each side.
    hopcroft_karp = bipartite.hopcroft_karp_matching(graph, top_nodes)
    theirs = len(hopcroft_karp) // 2, len(bipartite.eppstein_matching(graph, top_nodes)) // 2
    their_cover = bipartite.to_vertex_cover(graph, hopcroft_karp, top_nodes)
    print(
        f"{name:<32} {len(graph):>8} {graph.size():>6} {matching.size:>7} {theirs[0]:>9} {theirs[1]:>9} "
        f"{len(cover):>5} {len(their_cover):>5}"
    )
    sizes = {matching.size, *theirs, len(cover), len(their_cover)}
    return len(sizes) == 1 and covers(graph, cover) and covers(graph, their_cover)


def cover_of(graph: gmatch.BipartiteGraph, matching: gmatch.Matching) -> set[Hashable]:
    """The nodes of the cover that proves a matching maximum."""
    assert graph.row_nodes is not None and graph.col_nodes is not None  # the graph came from networkx
    rows, columns = matching.vertex_cover()
    return {graph.row_nodes[row] for row in rows} | {graph.col_nodes[column] for column in columns}


def covers(graph: nx.Graph, nodes: Iterable[Hashable]) -> bool:
    """Whether every edge has an end among the nodes."""
    chosen = set(nodes)
    return all(one in chosen or other in chosen for one, other in graph.edges())


if __name__ == "__main__":
    try:
        status = main()
        print(end="", flush=True)
    except BrokenPipeError:  # `head`, for one, has read enough
        os._exit(141)
    sys.exit(status)
