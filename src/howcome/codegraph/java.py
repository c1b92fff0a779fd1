"""Java: `import a.b.C`, `package a.b`, and `type C` for each type that is named, which needs no import in a package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from howcome.codegraph.parsing import Language, SourceTree, folder_of, nearness, text_of

MAX_TYPES = 400
_NAMED = {"method_invocation": "object", "field_access": "object"}


def read(nodes: Sequence[Any]) -> list[str]:
    """`import a.b.C` (types, members, whole packages), `package a.b` and `type C`."""
    found, types = [], set()
    for node in nodes:
        if node.type in ("package_declaration", "import_declaration"):
            words = text_of(node).rstrip(";").split()
            name = "".join(word for word in words[1:] if word != "static")
            found.append(f"{words[0]} {name}")
            continue
        field = _NAMED.get(node.type)
        name = text_of(named) if (named := node.child_by_field_name(field) if field else node) is not None else ""
        if name[:1].isupper() and name.isidentifier():
            types.add(name)
    return found + [f"type {name}" for name in sorted(types)[:MAX_TYPES]]


class JavaResolver:
    """A class is found by its package and its file's name; of several, the one nearest to the importing file."""

    def __init__(self, tree: SourceTree) -> None:
        self._packages: dict[str, str] = {}
        self._classes: dict[str, list[str]] = {}
        for path, imports in tree.imports.items():
            package = next((one.partition(" ")[2] for one in imports if one.startswith("package ")), "")
            package = package or "/" + folder_of(path)  # without a name a package is its folder
            self._packages[path] = package
            name = path.rpartition("/")[2].removesuffix(".java")
            self._classes.setdefault(f"{package}.{name}", []).append(path)

    def targets(self, path: str, imports: Sequence[str]) -> set[str | None]:
        """The files of the classes that a file imports or names."""
        words = [one.partition(" ")[::2] for one in imports]
        named = [name for kind, name in words if kind == "import"]
        explicit = {name.rpartition(".")[2] for name in named}
        types = [name for kind, name in words if kind == "type" and name not in explicit]
        packages = [self._packages.get(path, ""), *(name.removesuffix(".*") for name in named if name.endswith(".*"))]
        found = {self._nearest(name, path) for name in named}
        return found | {self._class(f"{package}.{name}", path) for package in packages for name in types}

    def _nearest(self, name: str, path: str) -> str | None:
        """The class of a name, or the one that it is a member of."""
        while "." in name:
            found = self._class(name, path)
            if found is not None:
                return found
            name = name.rpartition(".")[0]
        return None

    def _class(self, name: str, path: str) -> str | None:
        found = self._classes.get(name, ())
        return min(found, key=lambda other: (-nearness(other, path), other)) if found else None


JAVA = Language(
    {".java": "java"},
    ("import_declaration", "package_declaration", "type_identifier", "method_invocation", "field_access"),
    "(import_declaration) @import (package_declaration) @package (type_identifier) @type"
    " (method_invocation . object: (identifier)) @call (field_access . object: (identifier)) @field",
    read,
    JavaResolver,
)
