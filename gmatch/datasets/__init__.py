"""Matrices to match: the SuiteSparse Matrix Collection by name, and seeded generators of its synthetic families."""

from . import costs
from .files import read_matrix_market
from .generators import generate
from .ladder import layered
from .loader import load
from .meshes import delaunay, mesh_dual, rgg, road
from .patterns import permute
from .random_graphs import erdos_renyi, kron, rmat
from .registry import Entry, bundled, registry

__all__ = [
    "Entry",
    "bundled",
    "costs",
    "delaunay",
    "erdos_renyi",
    "generate",
    "kron",
    "layered",
    "load",
    "mesh_dual",
    "permute",
    "read_matrix_market",
    "registry",
    "rgg",
    "rmat",
    "road",
]
