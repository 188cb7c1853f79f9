"""What must work wherever gmatch is installed: run outside the source tree, by .ci/wheel and by cibuildwheel."""

import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import scipy.sparse

import gmatch

root = Path(__file__).resolve().parent.parent
assert root not in Path(gmatch.__file__).resolve().parents, f"the clone is imported: {gmatch.__file__}"
assert gmatch.__version__ == version("gmatch-bipartite")

costs = np.random.default_rng(1).integers(0, 1000, (300, 400))
for method in ("auto", "jv", "core", "tree"):
    gmatch.lap(costs, method=method, certify=True)
gmatch.lap(costs.astype(np.float32), certify=True)
gmatch.lap(scipy.sparse.random_array((200, 200), density=0.2, format="csr") + scipy.sparse.eye_array(200), certify=True)
assert gmatch.lap(costs[:3, :3]).size == 3
for entry in gmatch.datasets.bundled():
    gmatch.max_matching(gmatch.datasets.load(entry.name), certify=True)
python, numpy = sys.version.split()[0], np.__version__
print(f"gmatch {gmatch.__version__} works in Python {python} with NumPy {numpy} on {sys.platform}")
