"""Go: the path of a package, as it is written. A package is all files of its folder but tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from howcome.codegraph.parsing import Language, SourceTree, folder_of, text_of

_MODULE = re.compile(r'^\s*module\s+"?([^\s"]+)', re.MULTILINE)


def read(nodes: Sequence[Any]) -> list[str]:
    """The paths of `import "…"`, alone and in a group."""
    found = (node.child_by_field_name("path") for node in nodes)
    return [text for path in found if path is not None and (text := text_of(path)[1:-1])]


class GoResolver:
    """A package of a module that a go.mod of the project names; modules may lie in each other."""

    def __init__(self, tree: SourceTree) -> None:
        self._modules: dict[str, str] = {}
        for folder, text in tree.folders_with("go.mod"):
            if (named := _MODULE.search(text)) is not None:
                self._modules.setdefault(named.group(1), folder)
        self._packages: dict[str, list[str]] = {}
        for path in tree.imports:
            if not path.endswith("_test.go"):
                self._packages.setdefault(folder_of(path), []).append(path)

    def targets(self, path: str, imports: Sequence[str]) -> set[str]:
        """The files of the packages that a file imports."""
        return {target for one in imports for target in self._package(one)} - {path}

    def _package(self, name: str) -> Sequence[str]:
        module = name
        while module not in self._modules:
            if "/" not in module:
                return ()
            module = module.rpartition("/")[0]
        rest = name[len(module) :].strip("/")
        folder = self._modules[module]
        return self._packages.get("/".join(part for part in (folder, rest) if part), ())


GO = Language({".go": "go"}, ("import_spec",), "(import_spec) @import", read, GoResolver)
