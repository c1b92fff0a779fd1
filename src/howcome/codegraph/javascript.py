"""JavaScript and TypeScript: what an import is from, as it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from howcome.codegraph.parsing import Language, SourceTree, ancestors, folder_of, join, text_of

_ENDINGS = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
_SOURCES = {".js": (".ts", ".tsx", ".js", ".jsx"), ".jsx": (".tsx", ".jsx"), ".mjs": (".mts",), ".cjs": (".cts",)}
"""What a TypeScript file that is imported by the name it is compiled to is called before."""

_CONFIGS = ("tsconfig.json", "jsconfig.json")
_ENTRIES = ("source", "types", "module", "main")
"""Fields of package.json that name a package's first file; built ones are not in the repository."""

_COMMENTS = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*(?s:.*?)\*/')
_LAST_COMMAS = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[\]}])')
MAX_EXTENDED = 8


def read(nodes: Sequence[Any]) -> list[str]:
    """What `import`, `export … from`, `require(…)`, `import(…)` and `import x = require(…)` name, as it is written."""
    strings = [string for node in nodes if (string := _source(node)) is not None]
    return [text for string in strings if (text := text_of(string)[1:-1])]


def _source(node: Any) -> Any:  # noqa: ANN401 - tree-sitter is optional
    """The string that names what a statement or call imports, or None."""
    if node.type == "call_expression":
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        is_import = function is not None and text_of(function) in ("require", "import")
        has_any = is_import and arguments is not None and arguments.named_child_count > 0
        first = arguments.named_child(0) if has_any else None
        return first if first is not None and first.type == "string" else None
    source = node.child_by_field_name("source")
    if source is None and node.type == "import_statement":  # import x = require("…")
        clause = next((one for one in node.named_children if one.type == "import_require_clause"), None)
        source = clause.child_by_field_name("source") if clause is not None else None
    return source


class JavaScriptResolver:
    """Paths with and without endings, folders with an index, aliases, and the packages of a workspace."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree, self._files = tree, tree.imports
        self._configs = {path for path in tree.configs if path.rpartition("/")[2] in _CONFIGS}
        self._aliases: dict[str, list[tuple[str, str]]] = {}
        self._packages: dict[str, tuple[str, dict[str, object]]] = {}
        for folder, text in tree.folders_with("package.json"):
            values = _parsed(text)
            if isinstance(name := values.get("name"), str) and name:
                self._packages.setdefault(name, (folder, values))

    def targets(self, path: str, imports: Sequence[str]) -> set[str | None]:
        """The files that a file imports."""
        folder = folder_of(path)
        return {self._relative(folder, one) if one.startswith(".") else self._named(folder, one) for one in imports}

    def _relative(self, folder: str, name: str) -> str | None:
        base = join(folder, name)
        return None if base is None else self._file(base)

    def _file(self, base: str) -> str | None:
        if base in self._files:
            return base
        stem, dot, ending = base.rpartition(".")
        tries = [stem + other for other in _SOURCES.get(dot + ending, ())] if dot else []
        tries += [base + other for other in _ENDINGS]
        tries += [f"{base}/index{other}".lstrip("/") for other in _ENDINGS]
        return next((one for one in tries if one in self._files), None)

    def _named(self, folder: str, name: str) -> str | None:
        """What is neither relative nor absolute: an alias, or a package of this repository."""
        for base in self._bases(folder, name):
            found = self._file(base)
            if found is not None:
                return found
        parts = name.split("/")
        size = 2 if name.startswith("@") else 1
        known = self._packages.get("/".join(parts[:size]))
        return self._in_package(*known, "/".join(parts[size:])) if known is not None else None

    def _in_package(self, folder: str, values: Mapping[str, object], rest: str) -> str | None:
        entries = [entry for field in _ENTRIES if isinstance(entry := values.get(field), str)]
        for name in (rest, f"src/{rest}") if rest else ("src", "", *entries):
            base = join(folder, name)
            found = self._file(base) if base is not None else None
            if found is not None:
                return found
        return None

    def _bases(self, folder: str, name: str) -> list[str]:
        """Where the nearest configuration says that a name is, the longest pattern first."""
        found = []
        for pattern, target in self._aliases_of(folder):
            head, star, tail = pattern.partition("*")
            if star and len(name) >= len(head) + len(tail) and name.startswith(head) and name.endswith(tail):
                found.append(target.replace("*", name[len(head) : len(name) - len(tail)], 1))
            elif not star and name == pattern:
                found.append(target)
        return [base for one in found if (base := join("", one)) is not None]

    def _aliases_of(self, folder: str) -> list[tuple[str, str]]:
        if folder not in self._aliases:
            near = (f"{one}/{name}".lstrip("/") for one in ancestors(folder) for name in _CONFIGS)
            config = next((path for path in near if path in self._configs), None)
            aliases = self._read_aliases(config, MAX_EXTENDED) if config is not None else []
            self._aliases[folder] = sorted(aliases, key=lambda pair: -len(pair[0].partition("*")[0]))
        return self._aliases[folder]

    def _read_aliases(self, config: str, depth: int) -> list[tuple[str, str]]:
        """Pattern and target (below the project's root) of a configuration, or of those it extends or refers to."""
        values = _parsed(self._tree.text(config))
        options = values.get("compilerOptions")
        options = options if isinstance(options, dict) else {}
        base_url = options.get("baseUrl")
        base = join(folder_of(config), base_url if isinstance(base_url, str) else ".")
        found: list[tuple[str, str]] = []
        paths = options.get("paths")
        if base is not None and isinstance(paths, dict):
            found = [
                (pattern, f"{base}/{target}")
                for pattern, targets in paths.items()
                if isinstance(targets, list)
                for target in targets
                if isinstance(target, str)
            ]
        if isinstance(base_url, str) and base is not None:
            found.append(("*", f"{base}/*"))
        return found or (self._inherited(config, values, depth - 1) if depth else [])

    def _inherited(self, config: str, values: Mapping[str, object], depth: int) -> list[tuple[str, str]]:
        extends, references = values.get("extends"), values.get("references")
        named = [extends] if isinstance(extends, str) else list(extends) if isinstance(extends, list) else []
        if isinstance(references, list):
            named += [one.get("path") for one in references if isinstance(one, dict)]
        for name in named[:MAX_EXTENDED]:
            path = join(folder_of(config), name) if isinstance(name, str) and name.startswith(".") else None
            for other in (path, f"{path}.json", f"{path}/tsconfig.json") if path is not None else ():
                aliases = self._read_aliases(other, depth) if self._tree.text(other) else []
                if aliases:
                    return aliases
        return []


def _parsed(text: str) -> dict[str, object]:
    """A JSON object that may have comments and trailing commas, as tsconfig.json does; {} when it is none."""

    def strings_only(match: re.Match[str]) -> str:
        return match.group() if match.group()[0] == '"' else ""

    plain = _LAST_COMMAS.sub(strings_only, _COMMENTS.sub(strings_only, text))
    try:
        values = json.loads(plain)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


JAVASCRIPT = Language(
    dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), "javascript")
    | dict.fromkeys((".ts", ".mts", ".cts"), "typescript")
    | {".tsx": "tsx"},
    ("import_statement", "export_statement", "call_expression"),
    "(import_statement) @import (export_statement) @export (call_expression . function: [(identifier) (import)]) @call",
    read,
    JavaScriptResolver,
)
