"""Generators by name: `generate("delaunay:17")`."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from scipy.sparse import csr_array

from ..errors import InvalidInput
from .ladder import layered
from .meshes import delaunay, mesh_dual, rgg, road
from .patterns import checked_spec, permute
from .random_graphs import erdos_renyi, kron, rmat

__all__ = ["generate"]

# A SIZE up to this is an exponent, as in the collection's names: delaunay_n17 has 2**17 vertices.
LARGEST_EXPONENT = 30
FORM = "NAME:SIZE[:PARAMETER][:seed=S][:permuted]"
SPEC = re.compile(
    r"(generator:)?(?P<name>\w+):(?P<size>\d+)(:(?P<parameter>[\d.]+))?(:seed=(?P<seed>\d+))?(:(?P<permuted>permuted))?"
)


@dataclass(frozen=True)
class Family:
    """How the text of a specification becomes the arguments of a generator."""

    generator: Callable[..., csr_array]
    size: str = "n"
    seeded: bool = True
    parameter: str | None = None
    parameter_type: type[int] | type[float] = int


FAMILIES = {
    "delaunay": Family(delaunay),
    "erdos_renyi": Family(erdos_renyi, parameter="degree", parameter_type=float),
    "kron": Family(kron, size="scale", parameter="edge_factor"),
    "layered": Family(layered, size="k", seeded=False),
    "mesh_dual": Family(mesh_dual),
    "rgg": Family(rgg),
    "rmat": Family(rmat, parameter="entries"),
    "road": Family(road),
}


def generate(spec: str) -> csr_array:
    """Generate the matrix that a short text describes.

    Parameters
    ----------
    spec : str
        ``[generator:]NAME:SIZE[:PARAMETER][:seed=S][:permuted]``. NAME is a generator of `gmatch.datasets`. SIZE up to
        30 means 2**SIZE rows, a larger one means SIZE rows; for kron it is always the scale, for layered always k.
        PARAMETER is the degree of erdos_renyi, the edge_factor of kron, the entries of rmat. ``seed=S`` (default 0)
        seeds the generator and the permutation; ``permuted`` permutes rows and columns at random.

    Returns
    -------
    csr_array of int8
        Pattern, indices sorted.

    Raises
    ------
    InvalidInput
        The text does not have this form, or the generator refuses its arguments.

    Examples
    --------
    >>> gmatch.datasets.generate("delaunay:10").shape
    (1024, 1024)
    >>> gmatch.datasets.generate("erdos_renyi:4096:6:seed=1:permuted").shape
    (4096, 4096)
    """
    match = SPEC.fullmatch(checked_spec(spec))
    if match is None or match["name"] not in FAMILIES:
        raise InvalidInput(f"expected {FORM} where NAME is one of {', '.join(FAMILIES)}; got {spec!r}")
    family = FAMILIES[match["name"]]
    arguments = _arguments(family, match)
    matrix = family.generator(**arguments)
    return permute(matrix, seed=int(match["seed"] or 0)) if match["permuted"] else matrix


def _arguments(family: Family, match: re.Match[str]) -> dict[str, int | float]:
    size = int(match["size"])
    arguments: dict[str, int | float] = {
        family.size: 1 << size if family.size == "n" and size <= LARGEST_EXPONENT else size
    }
    if match["parameter"]:
        if family.parameter is None:
            raise InvalidInput(f"expected no PARAMETER, since {match['name']} has none; got {match[0]!r}")
        try:
            arguments[family.parameter] = family.parameter_type(match["parameter"])
        except ValueError:
            kind = family.parameter_type.__name__
            raise InvalidInput(f"expected {family.parameter} of type {kind} in {match[0]!r}") from None
    if family.seeded:
        arguments["seed"] = int(match["seed"] or 0)
    elif match["seed"] and not match["permuted"]:
        raise InvalidInput(f"expected no seed, since {match['name']} is not random; got {match[0]!r}")
    return arguments
