"""README and the pages of docs: examples run and print what they say, commands parse, links and names exist."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import assignment
import cardinality
import many_gpus
import networkx as nx
import numpy as np
import papers
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph
import small
import toolkit
import torch_batches

import gmatch
from gmatch import cli, cuda

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
EVERY_PAGE = pytest.mark.parametrize("page", TEXTS)
BENCHMARKS = {
    "assignment": assignment, "cardinality": cardinality, "many_gpus": many_gpus, "papers": papers, "small": small,
    "toolkit": toolkit, "torch_batches": torch_batches,
}  # fmt: skip
# README names it before the branch that brings it is merged; take it out then.
TO_COME: set[str] = set()


def examples() -> list[Any]:
    """The blocks of Python, each with the lines above it, so that numbers of lines are the page's."""
    return [
        pytest.param("\n" * text[: block.start(1)].count("\n") + block[1], id=f"{page}-{number}")
        for page, text in TEXTS.items()
        for number, block in enumerate(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL), 1)
    ]


@pytest.mark.parametrize("source", examples())
def test_an_example_runs_alone_and_prints_what_it_says(source: str) -> None:
    """``print(x)  # y`` promises that y is printed. Prints without a comment promise nothing."""
    if re.search(r"^import .*\btorch\b", source, re.MULTILINE):
        pytest.importorskip("torch")
    printed: dict[int, str] = {}

    def keep(*values: object) -> None:
        printed[sys._getframe(1).f_lineno] = " ".join(map(str, values))

    exec(compile(source, "example", "exec"), {"print": keep})
    lines = enumerate(source.splitlines(), 1)
    promised = {number: line.split("  # ", 1)[1] for number, line in lines if re.match(r"\s*print\(.*  # ", line)}
    assert {number: printed.get(number) for number in promised} == promised


def test_readme_has_five_examples_that_promise_something() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", TEXTS["README.md"], re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5 and all(re.search(r"^print\(.*  # ", block, re.MULTILINE) for block in blocks)


@pytest.mark.parametrize(("marker", "end"), [("demo-command", "-m gmatch demo"), ("test-command", "/pytest -n auto")])
def test_a_command_stands_below_its_marker(marker: str, end: str) -> None:
    """As .ci/run reads it: the line after the fence."""
    lines = TEXTS["README.md"].splitlines()
    _, fence, command, closing = lines[(at := lines.index(f"<!-- {marker} -->")) : at + 4]
    assert (fence, closing) == ("```", "```")
    assert command.startswith("python3 -m venv .venv && .venv/bin/pip install ") and command.endswith(end)


def commands(pattern: str) -> list[tuple[str, str]]:
    """Program and arguments, from spans of code and from lines of blocks without their comments."""
    spans = (span for text in TEXTS.values() for span in re.findall(r"`([^`]+)`", text.replace("```", "")))
    lines = (line.split("  # ")[0] for text in TEXTS.values() for line in re.findall(r"^python .*", text, re.MULTILINE))
    found = (re.fullmatch(pattern, " ".join(code.split())) for code in itertools.chain(spans, lines))
    return sorted({(match[1], match[2]) for match in found if match})


@pytest.mark.parametrize(("command", "rest"), commands(r"python -m gmatch ([\w-]+)(.*)"))
def test_a_command_of_gmatch_is_one(command: str, rest: str) -> None:
    assert cli.parser().parse_args([command, *shlex.split(rest)])


def measurements() -> list[tuple[str, str]]:
    """The commands of the page of timings, which names a script once, and then only options."""
    script, found = "", []
    for span in re.findall(r"`([^`]+)`", TEXTS["docs/benchmarks.md"]):
        named = re.match(r"benchmarks/(\w+)\.py", span)
        if named and named[1] in BENCHMARKS:
            script = named[1]
        if span.startswith("--"):
            found.append((script, " ".join(span.split())))
    return found


@pytest.mark.parametrize(("script", "rest"), commands(r"(?:python )?benchmarks/(\w+)\.py (.+)") + measurements())
def test_a_command_of_a_benchmark_is_one(
    script: str, rest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arguments parse in a folder with papers.json of an earlier call and a program at PATH, as the pages assume.

    Nothing runs, so no GPU is needed.
    """
    shutil.copy(ROOT / "benchmarks" / "results" / "papers_h200.json", tmp_path / "papers.json")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cuda, "require", lambda: None)
    assert BENCHMARKS[script].arguments(shlex.split(rest.replace("PATH", sys.executable)))


@EVERY_PAGE
def test_files_exist(page: str) -> None:
    """Spans of code that name files of this repository."""
    folders = "benchmarks|datasets|docs|examples|gmatch|tests"
    files = re.findall(rf"`(?:python )?((?:\.ci|{folders})/[\w/.]*)", TEXTS[page])
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_commands_are_found() -> None:
    assert len(commands(r"python -m gmatch ([\w-]+)(.*)")) >= 6
    assert len(commands(r"(?:python )?benchmarks/(\w+)\.py (.+)")) >= 9 and len(measurements()) >= 7


@EVERY_PAGE
def test_links_lead_somewhere(page: str) -> None:
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", TEXTS[page]) if "://" not in target]
    assert [target for target in targets if not ((ROOT / page).parent / target.split("#")[0]).exists()] == []


def test_comments_name_entries_of_the_log_that_are_there() -> None:
    """An entry is named after its file, or before it."""
    logs = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks" / "log").glob("*.md")}
    headings = {name: re.findall(r"^#+ (.*)$", text, re.M) for name, text in logs.items()}
    named = []
    for path in (ROOT / "gmatch").rglob("*"):
        if path.suffix in (".py", ".cuh", ".hpp", ".cpp"):
            text = re.sub(r"\n\s*(?://|#)? ?", " ", path.read_text(encoding="utf-8"))
            named += re.findall(r'benchmarks/log/(\w+\.md)(?:,| \()? ?"([^"]+)"', text)
            named += [place[::-1] for place in re.findall(r'"([^"]+)" in benchmarks/log/(\w+\.md)', text)]
    assert len(named) > 40
    assert [(log, entry) for log, entry in named if not any(entry in line for line in headings.get(log, ()))] == []


def test_the_index_links_and_lists_every_page() -> None:
    index = TEXTS["docs/index.md"]
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    listed = re.findall(r"^(\w+)$", "\n".join(re.findall(r"^```{toctree}\n(.*?)^```$", index, re.M | re.S)), re.M)
    assert sorted(listed) == sorted(pages | {"api"})
    assert {f"{page}.md" for page in pages - {"scripts"}} <= set(re.findall(r"\]\(([^)#]+)\)", index))
    assert "(docs/index.md)" in TEXTS["README.md"]


def test_the_api_reference_has_every_public_name() -> None:
    text = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    parts = re.findall(r"^\.\. currentmodule:: (\S+)\n(.*?)(?=^\.\. currentmodule|\Z)", text, re.M | re.S)
    listed = {f"{module}.{name}" for module, part in parts for name in re.findall(r"^   (\w+)$", part, re.M)}
    assert {f"gmatch.{name}" for name in gmatch.__all__} - listed == {
        "gmatch.METHODS", "gmatch.ASSIGNMENT_METHODS", "gmatch.compat", "gmatch.datasets",
    }  # fmt: skip
    assert {f"gmatch.datasets.{name}" for name in gmatch.datasets.__all__} - listed == {"gmatch.datasets.costs"}


def test_the_page_of_scripts_shows_every_example() -> None:
    shown = re.findall(r"^```{literalinclude} \.\./examples/(\w+\.py)$", TEXTS["docs/scripts.md"], re.M)
    assert sorted(shown) == sorted(path.name for path in (ROOT / "examples").glob("*.py"))


def test_the_papers_stand_beside_code_that_exists() -> None:
    """The last two columns of the tables: a file, and a symbol in it."""
    rows = re.findall(r"^\|.*\| `(gmatch/\S+)` \| `([^`]+)` \|$", TEXTS["docs/papers.md"], re.M)
    assert len(rows) > 40
    assert [row for row in rows if row[1] not in (ROOT / row[0]).read_text(encoding="utf-8")] == []


@EVERY_PAGE
def test_names_exist(page: str) -> None:
    """Also names of submodules, such as gmatch.datasets.load."""
    missing = set()
    for name in set(re.findall(r"\bgmatch((?:\.[A-Za-z]\w*)+)", TEXTS[page])):
        owner: Any = gmatch
        for part in name[1:].split("."):
            owner = getattr(owner, part, None)
        if owner is None:
            missing.add(name[1:])
    assert missing <= TO_COME


# The table of calls that replace each other. SciPy's functions of assignment are in test_compat.py.

SHAPES = [(rows, columns, seed) for rows in (1, 3, 4) for columns in (2, 3, 4) for seed in range(4)]


def pairs_by_size(costs: np.ndarray) -> list[tuple[int, float]]:
    """The number of pairs and their cost, for every matching."""
    rows, columns = costs.shape
    return [
        (size, float(sum(costs[row, column] for row, column in zip(some, others, strict=True))))
        for size in range(min(rows, columns) + 1)
        for some in itertools.combinations(range(rows), size)
        for others in itertools.permutations(range(columns), size)
    ]


@pytest.mark.parametrize(("rows", "columns", "seed"), SHAPES)
def test_matlab_and_lapx(rows: int, columns: int, seed: int) -> None:
    """MATLAB's matchpairs counts `unmatched` for each free row and column, lapx half of its limit."""
    random = np.random.default_rng(seed)
    costs, unmatched = random.random((rows, columns)), float(random.uniform(-0.1, 0.6))
    for maximize, best in ((False, min), (True, max)):
        result = gmatch.lap(costs, maximize=maximize, cost_limit=2 * unmatched)
        total = result.cost + unmatched * (rows + columns - 2 * result.size)
        expected = best(cost + unmatched * (rows + columns - 2 * size) for size, cost in pairs_by_size(costs))
        assert total == pytest.approx(expected)


def weighted_graph(rows: int, columns: int, seed: int) -> tuple[nx.Graph, list[int], list[str], Any]:
    """A graph, its nodes by sides, and the matrix that the page makes of them."""
    random = np.random.default_rng(seed)
    top, others = list(range(rows)), [f"column {column}" for column in range(columns)]
    graph = nx.Graph()
    graph.add_nodes_from([*top, *others])
    edges = itertools.product(top, others)
    graph.add_weighted_edges_from((*edge, int(random.integers(-3, 9))) for edge in edges if random.random() < 0.6)
    return graph, top, others, nx.bipartite.biadjacency_matrix(graph, top, others)


@pytest.mark.parametrize(("rows", "columns", "seed"), SHAPES)
def test_networkx(rows: int, columns: int, seed: int) -> None:
    graph, top, _, matrix = weighted_graph(rows, columns, seed)

    def weight(pairs: Any) -> int:
        return sum(graph.edges[pair]["weight"] for pair in pairs)

    matching = gmatch.max_matching(gmatch.BipartiteGraph.from_networkx(graph, top))
    theirs = nx.bipartite.maximum_matching(graph, top)
    assert 2 * matching.size == len(theirs)
    assert sum(map(len, matching.vertex_cover())) == len(nx.bipartite.to_vertex_cover(graph, theirs, top))
    assert gmatch.max_weight_matching(graph, top_nodes=top).cost == weight(nx.max_weight_matching(graph))
    largest = gmatch.lap(matrix, maximize=True, infeasible="partial")
    theirs = nx.max_weight_matching(graph, maxcardinality=True)
    assert (largest.size, largest.cost) == (len(theirs), weight(theirs))
    if matching.size == min(rows, columns):
        full = nx.bipartite.minimum_weight_full_matching(graph, top)
        expected = weight((row, full[row]) for row in top if row in full)
        assert gmatch.lap(matrix).cost == gmatch.lap(graph, top_nodes=top).cost == expected


@pytest.mark.parametrize(("rows", "columns", "seed"), SHAPES)
def test_scipy_graphs(rows: int, columns: int, seed: int) -> None:
    """With "row" SciPy gives the row of each column, the other way round with "column"."""
    matrix = sp.random_array((rows, columns), density=0.5, rng=np.random.default_rng(seed), format="csr")
    matching = gmatch.max_matching(matrix)
    for kind, ours in (("row", matching.col_match), ("column", matching.row_match)):
        theirs = scipy.sparse.csgraph.maximum_bipartite_matching(matrix, kind)
        assert theirs.shape == ours.shape
        assert np.count_nonzero(theirs >= 0) == np.count_nonzero(ours >= 0) == matching.size
    assert gmatch.structural_rank(matrix) == scipy.sparse.csgraph.structural_rank(matrix) == matching.size


def test_matlab_dmperm_of_one_result() -> None:
    """p(j) is the row of column j, 0 where there is none; numbered from 0 that is -1."""
    matrix = sp.csr_array([[1, 1, 0], [0, 1, 0], [0, 1, 0]])
    rows = gmatch.max_matching(matrix).col_match
    assert rows[2] == -1 and all(matrix[row, column] for column, row in enumerate(rows) if row >= 0)
