"""The eight variants of Deveci et al. (2013), and the variants with claims, on matrices and their random permutations.

A phase searches for augmenting paths, level by level. APFB searches until no tree can grow, so it needs few phases.
APsB stops at the first level that finds a path, so it needs many short phases. The graph and the order of its rows and
columns decide which one inspects fewer edges. The table shows that, and --output draws figure 2 of the paper.
On a CPU the variants CT and MT run alike; they size the grid of a GPU.

    python examples/compare_variants.py --output variants.png
    python examples/compare_variants.py HB/bcspwr10 generator:delaunay:15
    python examples/compare_variants.py Barabasi/NotreDame_www     # long paths: APFB takes thousands of levels

Without --output it needs no matplotlib. Matrices that do not come with gmatch are downloaded.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from scipy.sparse import csr_array

import gmatch

GRAPHS = ("HB/gemat12", "generator:delaunay:13")
PAPERS_VARIANTS = [method.name for method in gmatch.METHODS if isinstance(method, gmatch.APFB | gmatch.APsB)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the variants of the search.")
    parser.add_argument("graphs", nargs="*", metavar="GRAPH", default=GRAPHS, help="Group/Name or generator:NAME:SIZE")
    parser.add_argument("--output", type=Path, metavar="plot.png", help="draw the levels of each phase")
    arguments = parser.parse_args()
    try:
        matchings = {graph: compare(graph) for graph in arguments.graphs}
    except gmatch.GmatchError as error:
        parser.exit(2, f"error: {error}\n")
    if arguments.output:
        draw(matchings, arguments.output)
        print(f"\nlevels of each phase: {arguments.output}")


def compare(name: str) -> dict[str, dict[str, gmatch.Matching]]:
    """The matchings of one graph, by the order of its rows and columns and by variant."""
    natural = gmatch.datasets.generate(name) if name.startswith("generator:") else gmatch.datasets.load(name)
    orders = {"natural": natural, "permuted": gmatch.datasets.permute(natural)}
    return {order: run_variants(f"{name}, {order}", matrix) for order, matrix in orders.items()}


def run_variants(title: str, matrix: csr_array) -> dict[str, gmatch.Matching]:
    """Every variant from the same start, which leaves work to compare."""
    graph = gmatch.BipartiteGraph(matrix)
    print(f"\n{title}: {graph.shape[0]:,} rows, {graph.shape[1]:,} columns, {graph.entries:,} entries")
    print(f"{'variant':<22} {'size':>8} {'phases':>7} {'levels':>7} {'edges inspected':>16} {'ms':>9}")
    matchings = {}
    for method in gmatch.METHODS:
        start = time.perf_counter()
        matching = gmatch.max_matching(graph, method=method, initial="cheap")
        milliseconds = 1e3 * (time.perf_counter() - start)
        gmatch.verify(graph, matching)
        stats = matching.stats
        print(
            f"{method.name:<22} {matching.size:>8,} {stats['phases']:>7,} {stats['levels']:>7,} "
            f"{stats['edges_inspected']:>16,} {milliseconds:>9.2f}"
        )
        matchings[method.name] = matching
    return matchings


def draw(matchings: dict[str, dict[str, dict[str, gmatch.Matching]]], output: Path) -> None:
    """Figure 2 of the paper for each graph: natural order on the left, permuted on the right."""
    from matplotlib.figure import Figure

    from gmatch.plot import phases_and_levels

    figure = Figure(figsize=(11, 0.6 + 3.4 * len(matchings)), layout="constrained")
    grid = figure.subplots(len(matchings), 2, squeeze=False, sharey="row")
    for row, (name, orders) in zip(grid, matchings.items(), strict=True):
        for axes, (order, by_variant) in zip(row, orders.items(), strict=True):
            eight = {variant: by_variant[variant] for variant in PAPERS_VARIANTS}
            phases_and_levels(eight, f"{name}, {order}", axes)
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, handlelength=5)
    figure.savefig(output, dpi=120)


if __name__ == "__main__":
    try:
        main()
        print(end="", flush=True)
    except BrokenPipeError:  # `head`, for one, has read enough
        os._exit(141)
