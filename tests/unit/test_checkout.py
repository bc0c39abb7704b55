"""What a stranger relies on in this checkout: its verbs, its documents, its pinned requirements."""

import inspect
import itertools
import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from field import table
from pages import blocks, reference

from graph.notebook import Interlock
from graph.settings import KNOWN
from memory.errors import EXIT_CODES

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_make_alone_lists_every_verb() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}}
    done = subprocess.run(["make"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True)
    listed = {line.split()[1] for line in done.stdout.splitlines()}
    assert listed == set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))
    assert listed == set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        if "://" in file:
            continue
        place = (document.parent / file).resolve() if file else document
        assert place.exists(), f"{target} leads nowhere"
        assert not anchor or anchor in anchors(place), f"{target}: there is no such heading"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_verbs_that_documents_name_exist(document: Path) -> None:
    text = document.read_text()
    for name in re.findall(r"`((?:graph|tools|memory|tests|docs)/[\w./-]+|[\w]+\.(?:toml|yaml|json)|cli\.py)`", text):
        assert (ROOT / name).exists(), f"there is no {name}"
    for verb in re.findall(r"`make ([a-z]+)`", text):
        assert re.search(rf"^{verb}:", MAKEFILE, re.MULTILINE), f"there is no make {verb}"


@pytest.mark.parametrize("document", blocks.DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_of_a_document_is_run_by_a_test_or_says_which_one_runs_it_instead(document: Path) -> None:
    assert list(blocks.faults(document)) == [], "what a block may be: tests/pages/blocks.py"


def test_every_document_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    left = [ROOT / "README.md"]
    while left:
        document = left.pop()
        reached.add(document)
        links = re.findall(r"\]\(([^)#\s]+\.md)", document.read_text())
        left += [place for link in links if "://" not in link and (place := (document.parent / link).resolve()) not in reached]
    assert set(DOCUMENTS) <= reached


@pytest.mark.parametrize("file", ["README.md", ".env.example", "compose.yaml"])
def test_settings_that_are_described_exist(file: str) -> None:
    named = set(re.findall(r"INTERLOCK_[A-Z_]*[A-Z]", (ROOT / file).read_text()))
    assert named
    assert named <= KNOWN.keys()


def test_the_readme_says_of_settings_and_exit_codes_what_the_code_says() -> None:
    readme = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", (ROOT / "README.md").read_text())
    rows = re.findall(r"^\| `(INTERLOCK_\w+)` \| +(?:(.*?) )?\| (.*) \|$", readme, re.MULTILINE)
    assert rows == [(name, one.default, one.meaning) for name, one in KNOWN.items()]
    codes = re.findall(r"^\| (\d+) \| (.*) \|$", readme, re.MULTILINE)
    assert codes == [(str(code), meaning) for code, meaning in EXIT_CODES.items()]


def test_calls_from_python_are_as_their_page_shows_them() -> None:
    shown = re.findall(r"`(\w+)\((.*?)\)`", (ROOT / "docs/python.md").read_text().partition("| call |")[2].partition("\n\n")[0])
    assert {name for name, _ in shown} == {name for name in vars(Interlock) if not name.startswith("_")} - {"close"}
    for name, parameters in shown:
        known = list(inspect.signature(getattr(Interlock, name)).parameters.values())[1:]
        assert parameters.replace('"', "'") == ", ".join(str(one.replace(annotation=one.empty)) for one in known)


def test_the_reference_is_as_the_code_says() -> None:
    assert reference.DOCUMENT.read_text() == reference.document(), "write it anew: make fix"


def test_decisions_are_numbered_and_dated() -> None:
    decisions = sorted((ROOT / "docs/decisions").glob("*.md"))
    assert [file.name[:4] for file in decisions] == [f"{number:04}" for number in range(1, len(decisions) + 1)]
    for file in decisions:
        headings = re.findall(r"^## (.*)$", file.read_text(), re.MULTILINE)
        assert headings == ["Context", "Decision", "Consequences"], file.name
        assert re.search(r"^20\d\d-\d\d-\d\d$", file.read_text(), re.MULTILINE), file.name


def test_field_cases_are_as_the_tests_say() -> None:
    """Every case has a test, every test says what happens, and the page shows just that."""
    held = table.held()
    assert sorted(held) == sorted(table.cases()), "each case has a test that carries its number, and there are no others"
    assert [one.test for tests in held.values() for one in tests if not one.says] == []
    assert table.DOCUMENT.read_text() == table.document(), "write it anew: python tests/field/table.py"


def test_requirements_are_hashed_and_name_no_place_to_fetch_from() -> None:
    text = (ROOT / "requirements.txt").read_text()
    assert "://" not in text
    pinned = re.split(r"\n(?=[a-z0-9])", re.sub(r"^\s*#.*\n?", "", text, flags=re.MULTILINE).strip())
    assert all("==" in one.splitlines()[0] and "--hash=sha256:" in one for one in pinned)
    project, groups = PROJECT["project"], PROJECT["dependency-groups"]
    declared = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values()), *groups["dev"]]
    names = {normal(re.split(r"[\[<>=!~; ]", one)[0]) for one in declared}
    assert names <= {normal(re.split(r"[\[=]", one)[0]) for one in pinned}


def test_c088_the_graph_is_exported_by_a_dotted_path_and_the_saver_by_a_file() -> None:
    """The graph is named by a dotted path: no second copy of a module is loaded from its file."""
    config = json.loads((ROOT / "langgraph.json").read_text())
    module, _, attribute = config["graphs"]["interlock"].partition(":")
    assert f"def {attribute}(" in (ROOT / (module.replace(".", "/") + ".py")).read_text()
    file, _, attribute = config["checkpointer"]["path"].partition(":")
    assert attribute in (ROOT / file).read_text()


def anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
