"""The shape of the code: rooms keep to themselves, files and functions stay small, nothing slips in."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.e2e.agents import EACH, RELEASES
from tests.e2e.seen import BEGIN, END, GUIDE, SHOWN
from tests.manual import manual
from tests.plugin import plugin_files
from tests.reference import reference

from howcome import __version__
from howcome.cli.group import cli
from howcome.clients.registry import client_of, names
from howcome.hooks.handlers import HANDLERS
from howcome.mcp.tools import TOOLS
from howcome.settings import FIELDS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "howcome"
MODULES = sorted(PACKAGE.rglob("*.py"))
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 40
Function = ast.FunctionDef | ast.AsyncFunctionDef

BY_PATH = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))


def tree_of(path: Path) -> ast.Module:
    """A module's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every function and method of a module, also inner ones."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def code_lines(function: Function) -> int:
    """The lines of a function's body, without those of its docstring: the formatter gives each parameter its own."""
    first = function.body[0]
    has_docstring = ast.get_docstring(function) is not None
    begins = (first.end_lineno or first.lineno) + 1 if has_docstring else first.lineno
    return (function.end_lineno or begins) - begins + 1


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A process of this interpreter in the root of the project."""
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_rooms_keep_to_themselves() -> None:
    """Every import contract of pyproject.toml holds."""
    done = run("-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))")
    assert done.returncode == 0, done.stdout
    assert ", 0 broken." in done.stdout


@BY_PATH
def test_a_file_says_one_thing(path: Path) -> None:
    """At most 400 lines a file, 40 a function (without its docstring)."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE_LINES
    assert [
        f"{node.name}: {code_lines(node)}" for node in functions(tree_of(path)) if code_lines(node) > MAX_FUNCTION_LINES
    ] == []


@BY_PATH
def test_what_is_public_is_described(path: Path) -> None:
    """Modules, and public classes, functions and methods of public classes, have a docstring."""
    tree = tree_of(path)
    assert ast.get_docstring(tree), "module"
    public: list[ast.stmt] = [*tree.body]
    for node in public:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name
            if isinstance(node, ast.ClassDef):
                public += node.body


@BY_PATH
def test_nothing_prints(path: Path) -> None:
    """A hook's standard output is its answer: only click writes for people."""
    calls = [node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
    assert not [call for call in calls if isinstance(call, ast.Name) and call.id in ("print", "breakpoint", "input")]


def test_errors_are_swallowed_in_one_place() -> None:
    """One `except Exception`, at the hooks' edge; no bare one, no BaseException that is not raised again."""
    found = []
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ExceptHandler):
                caught = ast.unparse(node.type) if node.type else ""
                is_raised_again = any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
                if caught in ("", "BaseException") and not is_raised_again:
                    found.append(f"{path.name}: {caught or 'bare'}")
                if re.search(r"\bException\b", caught):
                    found.append(path.name)
    assert found == ["guarded.py"]


IMPORTED = """
import sys
before = set(sys.modules)
import {module}
for name in sorted(set(sys.modules) - before):
    print(name, getattr(sys.modules[name], "__file__", None))
"""


def loaded_by(module: str) -> dict[str, str]:
    """What importing a module brings into a fresh interpreter: names and files."""
    done = run(
        "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})" + IMPORTED.format(module=module)
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_a_hook_loads_nothing_third_party() -> None:
    """Importing the hooks' module brings in the standard library's cheap half and nothing else."""
    loaded = loaded_by("howcome.hooks.process")
    ours = {name for name in loaded if name.split(".")[0] == "howcome"}
    assert ours == {"howcome", "howcome.hooks", "howcome.hooks.process", "howcome.present", "howcome.present.guarded"}
    assert {name.split(".")[0] for name in loaded} - {"howcome"} <= sys.stdlib_module_names
    dear = {
        "dataclasses",
        "typing",
        "pathlib",
        "asyncio",
        "logging",
        "argparse",
        "sqlite3",
        "subprocess",
        "inspect",
        "socket",
    }
    assert not dear & set(loaded)


@pytest.mark.parametrize(
    "module", ["howcome", "howcome.domain.text", "howcome.app", "howcome.settings", "howcome.errors"]
)
def test_the_lower_rooms_load_no_dependency(module: str) -> None:
    """The package's root, its rules and its façade cost nothing third-party to import."""
    assert {name.split(".")[0] for name in loaded_by(module)} <= sys.stdlib_module_names | {"howcome"}


@pytest.mark.parametrize("agent", names())
def test_a_client_is_cheap_to_import(agent: str) -> None:
    """A hook imports its own agent's object: no other agent's, no reader, nothing dear."""
    own = f"howcome.clients.{agent.replace('-', '_')}"
    loaded = set(loaded_by(own))
    ours = {name for name in loaded if name.split(".")[0] == "howcome"}
    room = {f"howcome.clients.{name}" for name in ("base", "hook")}
    assert ours <= {"howcome", "howcome.clients", "howcome.errors", own} | room
    assert not {"re", "json", "datetime", "dataclasses", "typing", "pathlib", "importlib", "hashlib"} & loaded
    client = client_of(agent)
    assert client is not None
    assert client.name == agent
    for hook in client.hooks.values():
        assert hook.handler in HANDLERS
        assert hook.deadline_setting in {field.name for field in FIELDS}


def test_agents_are_named_by_their_objects_only() -> None:
    """Outside of `clients/` no code says an agent's name, or imports what is one agent's."""
    modules = tuple(f"howcome.clients.{agent.replace('-', '_')}" for agent in names())
    for path in MODULES:
        if path.parent == PACKAGE / "clients":
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                imported = (node.module, *(f"{node.module}.{one.name}" for one in node.names))
                assert not [name for name in imported if name.startswith(modules)], path
            if isinstance(node, ast.Constant):
                assert node.value not in names(), (path, node.lineno)


def tracked_files() -> list[Path]:
    """Every file that git has, or would take."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_the_tree_holds_nobodys_data() -> None:
    """Transcripts only where invented ones are, no stores, no dumps."""
    for path in tracked_files():
        top = path.relative_to(ROOT).parts[0]
        assert not path.name.endswith((".jsonl", ".jsonl.gz")) or top in ("samples", "tests"), path
        assert path.suffix not in (".db", ".sqlite", ".sqlite3", ".log", ".parquet", ".npy"), path


def test_the_version_is_said_once() -> None:
    """The package, pyproject.toml, the command line and the head of CHANGELOG.md agree."""
    import tomllib

    assert (
        tomllib.loads(ROOT.joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]["version"] == __version__
    )
    assert __version__ in run("-m", "howcome", "--version").stdout
    changelog = ROOT / "CHANGELOG.md"
    if changelog.exists():
        [first] = re.findall(r"^## \[?v?(\d[\w.]*)", changelog.read_text(encoding="utf-8"), re.MULTILINE)[:1]
        assert first == __version__


_NO_MODULES = ("app.", "clients/NAME", "history.db", "index.", "index/", "log/migrations", "store.", "worker.lock")
"""Groups of the façade and parts of a store, files and folders, and what stands for any agent's name."""


def test_what_docs_name_is_there() -> None:
    """`room/module` and `room.module.name`, in docs and in docstrings."""
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir()} - {"__pycache__"}
    modules = {path.relative_to(PACKAGE).with_suffix("").as_posix().removesuffix("/__init__") for path in MODULES}
    pages = [*MODULES, ROOT / "AGENTS.md", *(ROOT / "docs").glob("*.md")]
    missing = []
    for page in pages:
        for named in re.findall(r"`(\w+(?:[./]\w+)+)[`(:]", page.read_text(encoding="utf-8")):
            first, *rest = re.split(r"[./]", named.removesuffix(".py"))
            if first in rooms and not named.startswith(_NO_MODULES) and f"{first}/{rest[0]}" not in modules:
                missing.append(f"{page.name}: {named}")
    assert missing == []


def commands() -> dict[str, click.Command]:
    """Every command by its name."""
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def test_the_reference_is_current_and_whole() -> None:
    """docs/reference.md is what the code generates: every setting and every command is in it."""
    page = ROOT.joinpath("docs", "reference.md").read_text(encoding="utf-8")
    assert page == reference()
    for field in FIELDS:
        assert f"| `{field.variable}` | `{field.name}` |" in page
        assert field.help in page
    for tool in TOOLS:
        assert f"\n### {tool}\n" in page
    for name, command in commands().items():
        assert f"\n### howcome {name}\n" in page
        assert f"howcome {name}" in (command.help or "") + (command.epilog or ""), f"{name} shows no example"


def test_the_manual_page_is_current_and_whole() -> None:
    """docs/howcome.1 is what the code generates: every setting, command and option; no line is a macro by chance."""
    page = ROOT.joinpath("docs", "howcome.1").read_text(encoding="utf-8")
    assert page == manual()
    words = page.replace("\\-", "-")
    assert all(f"\\fB{field.variable}\\fR" in words for field in FIELDS)
    for name, command in commands().items():
        assert f"\n.SS howcome {name} " in words
        assert all(one.opts[-1] in words for one in command.params if isinstance(one, click.Option))
    macros = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert macros == {'.\\"', ".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".nf", ".fi"}


def test_the_plugin_is_current() -> None:
    """`plugin/` is what the code generates: hooks as `init` wires them, texts with the plugin's names of tools."""
    for name, text in plugin_files().items():
        assert ROOT.joinpath(name).read_text(encoding="utf-8") == text, f"{name}: python -m tests.plugin"
    commands = {path.name for path in ROOT.glob("plugin/commands/*")}
    assert commands == {path.name for path in ROOT.glob("src/howcome/clients/assets/commands/*.md")}


def test_every_command_that_reports_has_json() -> None:
    """All but the doors for agents, whose output is a protocol, and an editor."""
    found: dict[str, click.Command] = {}
    for name, command in commands().items():
        parts = command.commands if isinstance(command, click.Group) else {"": command}
        found |= {f"{name} {part}".strip(): one for part, one in parts.items()}
    without = {name for name, command in found.items() if not any("--json" in one.opts for one in command.params)}
    assert without == {"hook", "mcp", "config edit"}


@pytest.mark.parametrize(("agent", "version"), EACH)
def test_the_guide_shows_what_the_pinned_programs_did(agent: str, version: str) -> None:
    """Its table is made from a run of the versions that the tests pin, and every column was seen."""
    table = GUIDE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    [row] = [line for line in table.splitlines() if line.startswith(f"| {agent} {version}, ")]
    seen = row.strip("| ").split(" | ")[1:]
    assert seen.count("yes") == len(SHOWN) - (version != RELEASES[agent][0])
