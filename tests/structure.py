"""The shape of `src` in figures: `python -m tests.structure` prints them, with the limit of each, and fails above one.

What counts: import circles of any kind (inside functions and for typing, too), public methods of a class, lines and
parameters of functions, stores reached past the façade, imports inside functions; lines in all are only printed.
Complexity is ruff's affair (`mccabe.max-complexity`), and which room may import which import-linter's.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "howcome"
MAX_METHODS, MAX_GROUP_METHODS = 12, 20
LARGER = {"EventLog": 24, "SearchIndex": 10, "History": 14, "PostgresDatabase": 15, "Health": 21}
"""Public methods of classes that may have another number: the log, the index's port, and what each
agent says of its transcripts, what repositories ask of a database, and what is told of a store."""

MAX_MEDIAN_LINES, MAX_PARAMETERS = 8, 8
EAGER = ("doctor", "wiring", "upkeep", "evaluate", "memory", "codegraph")
"""Rooms that no hook loads: what they import of ours stands at the top. Elsewhere an import inside a function is a
hook's, a command's or the server's start-up time, or an extra."""

_APP = re.compile(r"\bapp$|\bopen_app\(")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Figure(NamedTuple):
    """One line of what is printed: what, how much, the limit, and what is above it."""

    name: str
    value: float
    limit: float
    offenders: list[str]


def modules() -> dict[str, ast.Module]:
    """Every module of the package by its name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(tree: ast.AST, known: set[str]) -> Iterator[tuple[str, ast.stmt]]:
    """The modules of the package that a tree imports anywhere, with the statements."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                name = inner if inner in known else node.module
                if name in known:
                    yield name, node
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names if alias.name in known)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected parts of more than one module (Tarjan 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for name in graph:
        if name not in order:
            visit(name)
    return found


def lines_of(function: Function) -> int:
    """A function's lines without decorators and docstring."""
    first = function.body[0]
    lines = (function.end_lineno or 0) - function.lineno + 1
    return lines - ((first.end_lineno or 0) - first.lineno + 1 if ast.get_docstring(function) is not None else 0)


def parameters_of(function: Function) -> int:
    """How many parameters it has, without `self`."""
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len(names) - (bool(names) and names[0] in ("self", "cls"))


def is_list(function: Function) -> bool:
    """Whether its parameters are a list by nature: a command's options, or the fields of a record that hooks load."""
    return function.name == "__init__" or any("command" in ast.unparse(one) for one in function.decorator_list)


def is_wide(module: str, name: str, methods: int) -> bool:
    """Whether a class has more public methods than it may have."""
    most = MAX_GROUP_METHODS if module.startswith("howcome.app") else MAX_METHODS
    return methods > LARGER.get(name, most)


def figures() -> list[Figure]:
    """All of them."""
    trees = modules()
    known = set(trees)
    graph = {name: {other for other, _ in imported(tree, known)} - {name} for name, tree in trees.items()}
    counted = [(name, node) for name, tree in trees.items() for node in ast.walk(tree) if isinstance(node, Function)]
    wide = [
        f"{name}.{node.name}: {count}"
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for count in [sum(isinstance(one, Function) and not one.name.startswith("_") for one in node.body)]
        if is_wide(name, node.name, count)
    ]
    stores = [
        f"{name}:{node.lineno}"
        for name, tree in trees.items()
        if not name.startswith("howcome.app")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "store"
        and re.search(r"\bapp$|\bopen_app\(", ast.unparse(node.value))
    ]
    late = [
        f"{name}:{node.lineno}"
        for name, tree in trees.items()
        if name.split(".")[1:2] and name.split(".")[1] in EAGER
        for function in ast.walk(tree)
        if isinstance(function, Function)
        for _, node in imported(function, known)
    ]
    found = circles(graph)
    many = [
        f"{name}.{one.name}: {n}"
        for name, one in counted
        if (n := parameters_of(one)) > MAX_PARAMETERS and not is_list(one)
    ]
    median = statistics.median(lines_of(one) for _, one in counted)
    return [
        Figure("import circles of any kind", len(found), 0, [" ↔ ".join(one) for one in found]),
        Figure("classes with too many public methods", len(wide), 0, wide),
        Figure("median lines of a function", median, MAX_MEDIAN_LINES, []),
        Figure(f"functions above {MAX_PARAMETERS} parameters", len(many), 0, many),
        Figure("stores reached past the façade", len(stores), 0, stores),
        Figure("imports inside functions of rooms that no hook loads", len(late), 0, late),
    ]


def main() -> int:
    """Prints the figures; 1 when one is above its limit."""
    trees = modules()
    for one in (found := figures()):
        print(f"{one.value:>8g}  of {one.limit:>3g}  {one.name}")
        for offender in one.offenders:
            print(f"              {offender}")
    inner = sum(
        isinstance(node, ast.Import | ast.ImportFrom)
        for tree in trees.values()
        for function in ast.walk(tree)
        if isinstance(function, Function)
        for node in ast.walk(function)
    )
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py"))
    print(f"{inner:>8}          imports inside functions in all")
    print(f"{len(trees):>8}          modules of {lines} lines")
    return any(one.value > one.limit for one in found)


if __name__ == "__main__":
    sys.exit(main())
