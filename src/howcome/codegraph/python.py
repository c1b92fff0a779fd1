"""Python: `a.b` is the module a.b, `a.b:c` the name c from it (perhaps a module), leading dots are relative."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from howcome.codegraph.parsing import Language, SourceTree, ancestors, folder_of, nearness, text_of

_PACKAGE = ("/__init__.py", "/__init__.pyi")
_ENDINGS = (_PACKAGE[0], ".py", _PACKAGE[1], ".pyi")
"""A package goes before a module of the same name."""


def read(nodes: Sequence[Any]) -> list[str]:
    """The modules of `import`, and for `from` each name with its module."""
    found: list[str] = []
    for node in nodes:
        names = [_plain(name) for name in node.children_by_field_name("name")]
        if node.type == "import_statement":
            found += names
            continue
        module = node.child_by_field_name("module_name")
        if module is not None:
            start = "".join(text_of(module).split())
            found += [f"{start}:{name}" for name in names] or [f"{start}:*"]
    return found


def _plain(node: Any) -> str:  # noqa: ANN401 - tree-sitter is optional
    name = node.child_by_field_name("name") if node.type == "aliased_import" else node
    return "".join(text_of(name).split()) if name is not None else ""


class PythonResolver:
    """Absolute modules from the importing file's own source root first, then from the nearest other one.

    A source root is the folder above a topmost package (`src`, `services/api`), and the root of the project. The folder
    of a file that is in no package is that file's own. The standard library's names are never another root's modules.
    """

    def __init__(self, tree: SourceTree) -> None:
        self._files = tree.imports
        self._packages = {folder_of(path) for path in tree.imports if path.endswith(_PACKAGE)}
        self._own: dict[str, str] = {}
        roots = {"", "src"} | {self._own_root(folder) for folder in self._packages}
        self._heads: dict[str, set[str]] = {}
        for path in tree.imports:
            for root in ancestors(folder_of(path)):
                if root in roots:
                    head = path[len(root) + 1 if root else 0 :].partition("/")[0].partition(".")[0]
                    self._heads.setdefault(head, set()).add(root)
        self._found: dict[tuple[str, str], str | None] = {}

    def targets(self, path: str, imports: Sequence[str]) -> set[str | None]:
        """The modules that a file imports."""
        folder = folder_of(path)
        found: set[str | None] = set()
        for one in imports:
            module, _, name = one.partition(":")
            target = self._module(folder, f"{module}.{name}" if module.strip(".") else module + name) if name else None
            found.add(target or self._module(folder, module))
        return found

    def _module(self, folder: str, module: str) -> str | None:
        if module.startswith("."):
            name = module.lstrip(".")
            parents = ancestors(folder)
            up = len(module) - len(name) - 1
            return self._file(parents[up], name) if up < len(parents) else None
        key = (self._own_root(folder), module)
        if key not in self._found:
            self._found[key] = self._absolute(*key)
        return self._found[key]

    def _absolute(self, own: str, module: str) -> str | None:
        found = self._file(own, module)
        head = module.partition(".")[0]
        if found is not None or head in sys.stdlib_module_names:
            return found
        for root in sorted(self._heads.get(head, ()), key=lambda root: (-nearness(root, own), root)):
            found = self._file(root, module)
            if found is not None:
                return found
        return None

    def _file(self, root: str, module: str) -> str | None:
        base = "/".join(part for part in (root, *module.split(".")) if part)
        endings = _ENDINGS if module else _PACKAGE
        return next((base + ending for ending in endings if base and base + ending in self._files), None)

    def _own_root(self, folder: str) -> str:
        if folder not in self._own:
            top = folder
            while top in self._packages:
                top = folder_of(top)
                if not top:
                    break
            self._own[folder] = top
        return self._own[folder]


PYTHON = Language(
    {".py": "python", ".pyi": "python"},
    ("import_statement", "import_from_statement"),
    "(import_statement) @plain (import_from_statement) @from",
    read,
    PythonResolver,
)
