"""The registry and the bundled matrices: complete, consistent, and true to their published structural ranks."""

import dataclasses
import hashlib
from importlib import import_module

import numpy as np
import pytest
from scipy.sparse.csgraph import structural_rank

from gmatch.datasets import bundled, load, registry
from gmatch.datasets.registry import _data_folder, bundled_file, entry_of
from gmatch.errors import DataError

BUNDLED = bundled()
# The function registry() hides the module of the same name.
MODULE = import_module("gmatch.datasets.registry")


def test_names_are_unique_and_sorted():
    names = [entry.name for entry in registry()]
    assert names == sorted(set(names), key=str.casefold)
    assert all(name.count("/") == 1 for name in names)


def test_entries_are_consistent():
    for entry in registry():
        assert entry.kind in ("bundled", "collection")
        assert entry.licence
        assert (entry.rows is None) == (entry.cols is None)
        assert entry.structural_rank is None or entry.structural_rank <= min(entry.rows, entry.cols)
        assert (entry.sha256 is not None) == (entry.kind == "bundled")


def test_entries_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BUNDLED[0].rows = 3


def test_the_table_of_deveci_2013_is_known():
    for name in ("SNAP/roadNet-CA", "DIMACS10/delaunay_n24", "Hamrle/Hamrle3", "DIMACS10/europe_osm"):
        assert entry_of(name).kind == "collection"
    assert entry_of("HB/no_such_matrix") is None


def test_the_bundle_has_every_shape():
    assert 25 <= len(BUNDLED) <= 50
    assert any(entry.rows > entry.cols for entry in BUNDLED)
    assert any(entry.rows < entry.cols for entry in BUNDLED)
    assert any(entry.structural_rank is None for entry in BUNDLED)
    assert any(entry.structural_rank and entry.structural_rank < min(entry.rows, entry.cols) for entry in BUNDLED)
    assert "Barabasi/NotreDame_www" in {entry.name for entry in BUNDLED}


def test_the_folder_holds_the_bundle_and_nothing_else():
    assert {path.name for path in _data_folder().glob("*.npz")} == {bundled_file(entry).name for entry in BUNDLED}
    assert sum(bundled_file(entry).stat().st_size for entry in BUNDLED) < 3_000_000
    assert b"\r" not in (_data_folder() / "registry.tsv").read_bytes()


def test_every_bundled_matrix_is_attributed():
    readme = (_data_folder() / "README.md").read_text(encoding="utf-8")
    for entry in BUNDLED:
        line = next(line for line in readme.splitlines() if line.startswith(f"| {entry.name} |"))
        assert entry.licence in line
        assert f"{entry.rows:,} x {entry.cols:,} | {entry.entries:,} |" in line


@pytest.mark.parametrize("entry", BUNDLED, ids=lambda entry: entry.name)
def test_bundled_matrices(entry):
    assert hashlib.sha256(bundled_file(entry).read_bytes()).hexdigest() == entry.sha256
    matrix = load(entry.name)
    assert matrix.shape == (entry.rows, entry.cols)
    assert matrix.nnz == entry.entries
    assert matrix.dtype == np.int8 and np.all(matrix.data == 1)
    assert matrix.indices.dtype == np.int32
    assert matrix.has_canonical_format
    if entry.structural_rank is not None:
        assert structural_rank(matrix) == entry.structural_rank


def test_the_data_is_found_in_a_wheel_and_in_a_checkout(tmp_path, monkeypatch):
    package = tmp_path / "gmatch" / "datasets"
    monkeypatch.setattr(MODULE, "__file__", str(package / "registry.py"))
    assert _data_folder() == tmp_path / "datasets"
    (package / "data").mkdir(parents=True)
    assert _data_folder() == package / "data"


def test_a_damaged_registry_is_a_data_error(tmp_path, monkeypatch):
    monkeypatch.setattr(MODULE, "_data_folder", lambda: tmp_path)
    registry.cache_clear()
    try:
        with pytest.raises(DataError, match="expected the registry of matrices in .*registry.tsv, got FileNotFound"):
            registry()
        (tmp_path / "registry.tsv").write_text("name\trows\nHB/x\tmany\n")
        with pytest.raises(DataError, match="reinstall gmatch"):
            registry()
    finally:
        monkeypatch.undo()
        registry.cache_clear()
    assert registry()
