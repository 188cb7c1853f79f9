"""gmatch: exact bipartite matching with proofs, on GPUs and CPUs."""

from . import compat, datasets
from .assignment import lap
from .certificate import AssignmentCertificate, Certificate, verify
from .costs import DenseCosts
from .errors import BackendUnavailable, CertificateError, DataError, GmatchError, Infeasible, InvalidInput
from .matching import max_matching, structural_rank
from .methods import APFB, ASSIGNMENT_METHODS, JV, METHODS, APsB, Claims, Tree
from .problem import BipartiteGraph
from .result import Assignment, Matching, Status
from .sparse_costs import SparseCosts

__version__ = "0.1.0"

__all__ = [
    "APFB",
    "APsB",
    "ASSIGNMENT_METHODS",
    "Assignment",
    "AssignmentCertificate",
    "BackendUnavailable",
    "BipartiteGraph",
    "Certificate",
    "CertificateError",
    "Claims",
    "DataError",
    "DenseCosts",
    "GmatchError",
    "Infeasible",
    "InvalidInput",
    "JV",
    "METHODS",
    "Matching",
    "SparseCosts",
    "Status",
    "Tree",
    "compat",
    "datasets",
    "lap",
    "max_matching",
    "structural_rank",
    "verify",
]
