"""What `import gmatch` loads, in processes of their own."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gmatch

LOADED_WHERE_USED = (
    "numpy", "scipy", "networkx", "requests", "tqdm", "pooch", "rich", "matplotlib", "cupy", "pandas", "torch",
)  # fmt: skip
# Nor do these parts of SciPy, or other libraries, serve a call of `lap`, unless `scipy.sparse` loads them itself.
NOT_FOR_LAP = ("scipy.io", "scipy.spatial", "scipy.optimize", "scipy.sparse.linalg", *LOADED_WHERE_USED[2:])


def loaded_by(code: str) -> set[str]:
    command = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_import_loads_no_other_library():
    loaded = loaded_by("import gmatch")
    assert "gmatch" in loaded
    assert not loaded & set(LOADED_WHERE_USED)


def test_a_call_loads_no_library_that_it_does_not_use():
    loaded = loaded_by("import gmatch; assert gmatch.lap([[1, 2], [3, 5]]).cost == 5")
    assert "scipy.sparse" in loaded
    assert not (loaded - loaded_by("import scipy.sparse")) & {
        *NOT_FOR_LAP,
        "gmatch.datasets",
        "gmatch.networkx_backend",
    }


def test_datasets_load_what_they_use():
    loaded = loaded_by("import gmatch; gmatch.datasets.load('HB/ash219')")
    assert "gmatch.datasets" in loaded
    assert not (loaded - loaded_by("import scipy.sparse")) & set(NOT_FOR_LAP)


@pytest.mark.parametrize("module", sorted(path.stem for path in Path(gmatch.__file__).parent.glob("[a-z]*.py")))
def test_any_module_may_be_imported_first(module):
    loaded_by(f"from gmatch import {module}")


def test_every_public_name_is_there():
    assert {"lap", "max_matching", "verify"} <= set(gmatch.__all__) <= set(dir(gmatch))
    for name in gmatch.__all__:
        assert getattr(gmatch, name) is not None, name


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="module 'gmatch' has no attribute 'lapp'"):
        gmatch.lapp  # noqa: B018


def test_old_names_of_modules():
    from gmatch import ties

    assert ties is gmatch.ties is sys.modules["gmatch.ties"] is sys.modules["gmatch.assignment.ties"]


def test_a_clone_without_the_compiled_part_says_what_to_do(tmp_path):
    folder = tmp_path / "gmatch"
    shutil.copytree(Path(gmatch.__file__).parent, folder, ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    # -S: no site-packages, where an editable installation would know of a compiled part.
    command = [sys.executable, "-S", "-c", "import gmatch"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": ""})
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: gmatch was found in {folder}"), result.stderr
    assert "run `pip install -e .` in it" in last
