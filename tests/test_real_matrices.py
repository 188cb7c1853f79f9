"""Published structural ranks and known matching sizes of real matrices, by every method on every device."""

import csv
from pathlib import Path

import numpy as np
import pytest
from conftest import put

import gmatch

# More matrices than the project carries; not there on most machines.
SHARED = Path(__file__).resolve().parents[2] / "shared" / "matrices"


@pytest.mark.parametrize("method", gmatch.METHODS, ids=lambda method: method.name)
def test_bundled(method: object, device: str) -> None:
    for entry in gmatch.datasets.bundled():
        graph = put(gmatch.datasets.load(entry.name), device)
        matching = gmatch.max_matching(graph, method=method)
        gmatch.verify(graph, matching)
        assert graph.shape == (entry.rows, entry.cols) and graph.entries == entry.entries
        if entry.structural_rank is not None:
            assert matching.size == entry.structural_rank, entry.name


def shared_matrices() -> list[dict[str, str]]:
    manifest = SHARED / "manifest.tsv"
    if not manifest.exists():
        return []
    with manifest.open() as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared")
@pytest.mark.parametrize("method", gmatch.METHODS, ids=lambda method: method.name)
def test_shared(method: object, device: str) -> None:
    ranks = 0
    for row in shared_matrices():
        with np.load(SHARED / row["file"]) as arrays:
            graph = put((arrays["indptr"], arrays["indices"], arrays["shape"]), device)
        matching = gmatch.max_matching(graph, method=method)
        gmatch.verify(graph, matching)
        assert matching.size == int(row["max_matching"]), row["name"]
        if row["sprank_published"]:
            ranks += 1
            assert matching.size == int(row["sprank_published"]), row["name"]
    assert ranks == 330
