"""Rust: `mod a::b` (b, declared within the inline module a), `path x.rs` of an attribute, `use crate::a::b`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from howcome.codegraph.parsing import Language, SourceTree, ancestors, folder_of, join, text_of

_PATH = re.compile(r'\bpath\s*=\s*"([^"]+)"')
_ROOTS = ("lib.rs", "main.rs")
_TARGET_FOLDERS = ("benches", "examples", "src/bin", "tests")
"""Each file right in one of these is a crate of its own."""

MAX_USED = 1000
MAX_INLINE = 16


def read(nodes: Sequence[Any]) -> list[str]:
    """What `mod` declares and `use` uses, also in inline modules, seen from the file's own module."""
    found: list[str] = []
    for node, inline in _placed(nodes):
        if node.type == "use_declaration":
            argument = node.child_by_field_name("argument")
            found += [f"use {_outside(path, inline)}" for path in _used(argument)]
        elif node.child_by_field_name("body") is None and (name := node.child_by_field_name("name")) is not None:
            attribute = _path_attribute(node)
            found.append(f"path {attribute}" if attribute else f"mod {'::'.join((*inline, text_of(name)))}")
    return found


def _placed(nodes: Sequence[Any]) -> Iterator[tuple[Any, list[str]]]:
    """Each node with the names of the inline modules that it stands in, the outermost first.

    By their places in the source: asking a node for its parent takes time in its depth.
    """
    around: list[tuple[int, str]] = []
    for node in sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte)):
        while around and around[-1][0] <= node.start_byte:
            around.pop()
        yield node, [name for _, name in around[:MAX_INLINE]]
        name = node.child_by_field_name("name") if node.type == "mod_item" else None
        if name is not None and node.child_by_field_name("body") is not None:
            around.append((node.end_byte, text_of(name)))


def _path_attribute(node: Any) -> str:  # noqa: ANN401 - tree-sitter is optional
    before = node.prev_named_sibling
    while before is not None and before.type == "attribute_item":
        found = _PATH.search(text_of(before))
        if found is not None:
            return found.group(1)
        before = before.prev_named_sibling
    return ""


def _used(argument: Any) -> Iterator[str]:  # noqa: ANN401 - tree-sitter is optional
    """Every path of a use: `a::{b, c::d}` is a::b and a::c::d."""
    waiting: list[tuple[str, Any]] = [("", argument)]
    count = 0
    while waiting and count < MAX_USED:
        prefix, node = waiting.pop()
        count += 1
        if node is None:
            continue
        if node.type == "use_list":
            waiting += [(prefix, child) for child in node.named_children]
        elif node.type == "scoped_use_list":
            path = node.child_by_field_name("path")
            waiting.append((prefix + _path_text(path) + "::", node.child_by_field_name("list")))
        elif node.type == "use_as_clause":
            waiting.append((prefix, node.child_by_field_name("path")))
        elif node.type == "use_wildcard":
            waiting += [(prefix, child) for child in node.named_children[:1]] or [(prefix + "self", None)]
        else:
            yield prefix + _path_text(node)


def _path_text(node: Any) -> str:  # noqa: ANN401 - tree-sitter is optional
    return "".join(text_of(node).split()).lstrip(":") if node is not None else ""


def _outside(path: str, inline: Sequence[str]) -> str:
    """A path as the file's own module would write it: `super` of an inline module is that module."""
    parts, left = path.split("::"), list(inline)
    if not left or parts[0] not in ("self", "super"):
        return path
    while parts and parts[0] == "super" and left:
        parts.pop(0)
        left.pop()
    if parts and parts[0] == "super":
        return "::".join(parts)
    return "::".join(["self", *left, *(part for part in parts if part != "self")])


class RustResolver:
    """A path leads to the deepest module on it that is a file; what is left names something in there."""

    def __init__(self, tree: SourceTree) -> None:
        self._files = tree.imports
        roots = [path for path in tree.imports if path.rpartition("/")[2] in _ROOTS]
        self._roots = {folder_of(path): path for path in sorted(roots, reverse=True)}  # a library before a program
        self._libraries: dict[str, str] = {}
        crates = tree.folders_with("Cargo.toml")
        self._target_folders = {join(folder, name) for folder, _ in crates for name in _TARGET_FOLDERS}
        for folder, text in crates:
            try:
                values = tomllib.loads(text)
            except (ValueError, RecursionError):
                continue
            self._add_crate(folder, values)

    def _add_crate(self, folder: str, values: Mapping[str, object]) -> None:
        package, library = values.get("package"), values.get("lib")
        library = library if isinstance(library, dict) else {}
        path = library.get("path")
        root = join(folder, path if isinstance(path, str) else "src/lib.rs")
        name = library.get("name") or (package.get("name") if isinstance(package, dict) else None)
        if root is not None and root in self._files:
            self._roots[folder_of(root)] = root
            if isinstance(name, str):
                self._libraries.setdefault(name.replace("-", "_"), root)

    def targets(self, path: str, imports: Sequence[str]) -> set[str | None]:
        """The files of the modules that a file declares or uses."""
        found: set[str | None] = set()
        for one in imports:
            kind, _, name = one.partition(" ")
            parts = name.split("::")
            if kind == "path":
                target = join(folder_of(path), name)
                found.add(target if target in self._files else None)
            elif kind == "mod":
                found.add(self._module(self._children(path), parts))
            else:
                found.add(self._use(path, parts))
        return found

    def _use(self, path: str, parts: list[str]) -> str | None:
        first = parts[0]
        if first == "crate":
            root = self._root_of(path)
            return self._deepest(folder_of(root), parts[1:], root) if root is not None else None
        if first == "self":
            return self._deepest(self._children(path), parts[1:], path)
        if first == "super":
            return self._above(path, parts)
        local = self._module(self._children(path), parts[:1])
        if local is not None:
            return self._deepest(self._children(path), parts, local)
        library = self._libraries.get(first)
        return self._deepest(folder_of(library), parts[1:], library) if library is not None else None

    def _above(self, path: str, parts: list[str]) -> str | None:
        folder = folder_of(path)
        folder = folder_of(folder) if path.endswith("/mod.rs") else folder
        rest = parts[1:]
        while rest and rest[0] == "super":
            folder, rest = folder_of(folder), rest[1:]
        owners = (self._roots.get(folder), f"{folder}/mod.rs", f"{folder}.rs")
        owner = next((one for one in owners if one is not None and one in self._files), None)
        return self._deepest(folder, rest, owner)

    def _deepest(self, folder: str, parts: Sequence[str], otherwise: str | None) -> str | None:
        """The file of the longest beginning of a path; the module that it starts from, when there is none."""
        for size in range(len(parts), 0, -1):
            found = self._module(folder, parts[:size])
            if found is not None:
                return found
        return otherwise

    def _module(self, folder: str, parts: Sequence[str]) -> str | None:
        base = "/".join(part for part in (folder, *parts) if part)
        return next((base + ending for ending in (".rs", "/mod.rs") if base + ending in self._files), None)

    def _is_root(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return name in _ROOTS or self._roots.get(folder) == path or folder in self._target_folders

    def _children(self, path: str) -> str:
        """The folder of a file's child modules."""
        return folder_of(path) if self._is_root(path) or path.endswith("/mod.rs") else path.removesuffix(".rs")

    def _root_of(self, path: str) -> str | None:
        """The file that a file's crate begins with."""
        if self._is_root(path):
            return path
        return next((self._roots[one] for one in ancestors(folder_of(path)) if one in self._roots), None)


RUST = Language(
    {".rs": "rust"}, ("mod_item", "use_declaration"), "(mod_item) @mod (use_declaration) @use", read, RustResolver
)
