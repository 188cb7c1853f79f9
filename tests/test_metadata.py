"""What the project says of itself, in several files."""

import re
import tomllib
from pathlib import Path

import gmatch

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_one_version():
    assert f"\nversion: {gmatch.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_what_a_citation_and_an_index_need():
    """Fields of CITATION.cff that its schema requires, and classifiers that fit what pyproject says elsewhere."""
    citation = (ROOT / "CITATION.cff").read_text()
    keys = re.findall(r"^([\w-]+):", citation, re.MULTILINE)
    assert {"cff-version", "message", "title", "authors", "license", "abstract", "keywords"} <= set(keys)
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {oldest}" in PROJECT["classifiers"]
    assert PROJECT["classifiers"] == sorted(PROJECT["classifiers"])
    assert [word.lower() for word in PROJECT["keywords"]] == sorted(word.lower() for word in PROJECT["keywords"])


def test_messages_name_this_package_and_extras_that_it_has():
    sources = [path for folder in ("gmatch", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    named = [match for path in sources for match in re.findall(r"pip install '([\w-]+)\[(\w+)\]'", path.read_text())]
    assert len(named) >= 4
    assert {name for name, _ in named} == {PROJECT["name"]}
    assert {extra for _, extra in named} <= PROJECT["optional-dependencies"].keys()


def test_the_workflow_is_yaml():
    """Plain scalars must not hold a colon and a blank: a command with these once made the whole file invalid."""
    lines = (ROOT / ".github" / "workflows" / "wheels.yml").read_text().splitlines()
    plain = [line for line in lines if re.match(r"\s*(- )?[\w-]+: [^\s|>\"'\[{]", line)]
    assert len(plain) > 10
    assert [line for line in plain if ": " in line.partition(": ")[2]] == []
