"""gmatch: exact bipartite matching with proofs, on GPUs and CPUs."""

from . import compat, datasets
from .assignment import lap
from .batch import CostBatch
from .certificate import verify
from .costs import DenseCosts
from .decomposition import block_triangular_form, dulmage_mendelsohn
from .errors import BackendUnavailable, CertificateError, DataError, GmatchError, Infeasible, InvalidInput
from .matching import max_matching, structural_rank
from .max_weight import max_weight_matching
from .methods import (
    APFB,
    ASSIGNMENT_METHODS,
    JV,
    METHODS,
    APsB,
    Claims,
    Classical,
    Core,
    Mixed,
    Munkres,
    Ordered,
    PothenFan,
    Tree,
)
from .problem import BipartiteGraph
from .result import (
    Assignment,
    AssignmentBatch,
    AssignmentCertificate,
    Certificate,
    Decomposition,
    DecompositionCertificate,
    ExactDuals,
    Matching,
    Status,
    Tier,
)
from .sparse_costs import SparseCosts

__version__ = "0.1.0"

__all__ = [
    "APFB",
    "APsB",
    "ASSIGNMENT_METHODS",
    "Assignment",
    "AssignmentBatch",
    "AssignmentCertificate",
    "BackendUnavailable",
    "BipartiteGraph",
    "Certificate",
    "CertificateError",
    "Claims",
    "Classical",
    "Core",
    "CostBatch",
    "DataError",
    "Decomposition",
    "ExactDuals",
    "DecompositionCertificate",
    "DenseCosts",
    "GmatchError",
    "Infeasible",
    "InvalidInput",
    "JV",
    "METHODS",
    "Matching",
    "Mixed",
    "Munkres",
    "Ordered",
    "PothenFan",
    "SparseCosts",
    "Status",
    "Tier",
    "Tree",
    "block_triangular_form",
    "compat",
    "datasets",
    "dulmage_mendelsohn",
    "lap",
    "max_matching",
    "max_weight_matching",
    "structural_rank",
    "verify",
]
