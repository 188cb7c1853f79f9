"""gmatch: exact bipartite matching with proofs, on GPUs and CPUs."""

from . import datasets
from .certificate import Certificate, verify
from .errors import BackendUnavailable, CertificateError, DataError, GmatchError, InvalidInput
from .matching import max_matching, structural_rank
from .methods import APFB, METHODS, APsB, Claims
from .problem import BipartiteGraph
from .result import Matching

__version__ = "0.1.0"

__all__ = [
    "APFB",
    "METHODS",
    "APsB",
    "BackendUnavailable",
    "BipartiteGraph",
    "Certificate",
    "CertificateError",
    "Claims",
    "DataError",
    "GmatchError",
    "InvalidInput",
    "Matching",
    "datasets",
    "max_matching",
    "structural_rank",
    "verify",
]
