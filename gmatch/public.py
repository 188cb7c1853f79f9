"""The public names of gmatch: `gmatch` imports this module when the first of them is used."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from . import compat
from .assignment.lap import lap
from .assignment.max_weight import max_weight_matching
from .assignment.update import updated  # noqa: F401 (for `Assignment.update`)
from .cardinality.decomposition import block_triangular_form, dulmage_mendelsohn
from .cardinality.matching import max_matching, structural_rank
from .distributed.ranks import Ranks
from .errors import BackendUnavailable, CertificateError, DataError, GmatchError, Infeasible, InvalidInput, RankLost
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
from .problems.batch import CostBatch
from .problems.dense import DenseCosts
from .problems.graph import BipartiteGraph
from .problems.points import PointCosts
from .problems.row_blocks import RowBlocks
from .problems.sparse import SparseCosts
from .problems.windows import FunctionCosts, RowWindows
from .proof.verify import verify
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
from .toolkit.bottleneck import bottleneck
from .toolkit.hypotheses import best_hypotheses
from .toolkit.ranked import k_best, ranked
from .toolkit.scaling import scale
from .toolkit.transport import transport
from .toolkit_result import (
    Bottleneck,
    BottleneckCertificate,
    Hypotheses,
    Hypothesis,
    KBest,
    KBestCertificate,
    RankedAssignment,
    Scaling,
    ScalingCertificate,
    Transport,
    TransportCertificate,
)

if TYPE_CHECKING:
    from . import datasets  # which gmatch imports when it is used itself

# Modules that moved stay importable by their old names for one release.
MOVED = {
    "batch": "problems.batch",
    "certificate": "proof.verify",
    "costs": "problems.dense",
    "decomposition": "cardinality.decomposition",
    "matching": "cardinality.matching",
    "problem": "problems.graph",
    "sparse_costs": "problems.sparse",
    "ties": "assignment.ties",
}
for _old, _new in MOVED.items():
    globals()[_old] = sys.modules[f"{__package__}.{_old}"] = import_module(f"{__package__}.{_new}")

__all__ = [
    "APFB",
    "APsB",
    "ASSIGNMENT_METHODS",
    "Assignment",
    "AssignmentBatch",
    "AssignmentCertificate",
    "BackendUnavailable",
    "BipartiteGraph",
    "Bottleneck",
    "BottleneckCertificate",
    "Certificate",
    "CertificateError",
    "Claims",
    "Classical",
    "Core",
    "CostBatch",
    "DataError",
    "Decomposition",
    "DecompositionCertificate",
    "DenseCosts",
    "ExactDuals",
    "FunctionCosts",
    "GmatchError",
    "Hypotheses",
    "Hypothesis",
    "Infeasible",
    "InvalidInput",
    "JV",
    "KBest",
    "KBestCertificate",
    "METHODS",
    "Matching",
    "Mixed",
    "Munkres",
    "Ordered",
    "PointCosts",
    "PothenFan",
    "RankLost",
    "RankedAssignment",
    "Ranks",
    "RowBlocks",
    "RowWindows",
    "Scaling",
    "ScalingCertificate",
    "SparseCosts",
    "Status",
    "Tier",
    "Transport",
    "TransportCertificate",
    "Tree",
    "best_hypotheses",
    "block_triangular_form",
    "bottleneck",
    "compat",
    "datasets",
    "dulmage_mendelsohn",
    "k_best",
    "lap",
    "max_matching",
    "max_weight_matching",
    "ranked",
    "scale",
    "structural_rank",
    "transport",
    "verify",
]
