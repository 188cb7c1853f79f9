"""How: the methods, frozen objects whose fields are their options, and which of them ``"auto"`` takes.

A plain string means a method: ``"apfb"`` is ``APFB()``, and the papers' full names choose the fields, as in
``"apsb-gpubfs-wr-mt"`` or ``"claims-apsb-gpubfs"``.
"""

from .assignment import (
    ASSIGNMENT_METHODS,
    JV,
    AssignmentMethod,
    Classical,
    Core,
    Munkres,
    SerialCore,
    SparseJV,
    SparseTree,
    TiedCore,
    Tree,
)
from .cardinality import (
    APFB,
    AUTO,
    METHODS,
    APsB,
    Claims,
    ForestKind,
    ForestMethod,
    Method,
    Mixed,
    Ordered,
    PothenFan,
    method_of,
)
from .choice import (
    FEW_PAIRS_REASON,
    FEW_ROWS,
    FEW_ROWS_ON_CPU,
    FEW_ROWS_REASON,
    LAID_OUT,
    MOST_ROWS_OF_A_BLOCK,
    ONE_BLOCK_REASON,
    ONE_CORE_REASON,
    assignment_method_of,
    batch_method_of,
    bids_pay,
)

__all__ = [
    "APFB", "ASSIGNMENT_METHODS", "AUTO", "FEW_PAIRS_REASON", "FEW_ROWS", "FEW_ROWS_ON_CPU", "FEW_ROWS_REASON", "JV",
    "LAID_OUT", "METHODS", "MOST_ROWS_OF_A_BLOCK", "ONE_BLOCK_REASON", "ONE_CORE_REASON", "APsB", "AssignmentMethod",
    "Claims", "Classical", "Core", "ForestKind", "ForestMethod", "Method", "Mixed", "Munkres", "Ordered", "PothenFan",
    "SerialCore", "SparseJV", "SparseTree", "TiedCore", "Tree", "assignment_method_of", "batch_method_of", "bids_pay",
    "method_of",
]  # fmt: skip
