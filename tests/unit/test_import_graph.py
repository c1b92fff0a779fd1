"""Imports become edges between files of a project: by language, after edits, and whatever lies in the way."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.hostile.scale import examples, of
from tests.repositories import build, edges, git, write_tree

from howcome.codegraph.build import LANGUAGES
from howcome.codegraph.parsing import Grammar, TooSlowError
from howcome.domain.code import CodeFile
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = {
    "src/shop/__init__.py": "from shop.cart import Cart\nfrom . import prices as p\n",
    "src/shop/cart.py": "import json\nimport shop.prices\nfrom .stock import (\n    Item,\n    count,\n)\n",
    "src/shop/prices.py": "import requests\n\ndef late():\n    from shop.stock.levels import low\n",
    "src/shop/stock/__init__.py": "from .levels import *\n",
    "src/shop/stock/levels.py": "from .. import cart\nfrom ... import nothing\nfrom shop.cart import Cart\n",
    "src/shop/json.py": "",
    "tests/test_cart.py": "from shop import cart\nfrom shop.stock import levels, Item\nimport helpers\n"
    "'''\nimport shop.json\n'''\n",
    "tests/helpers.py": "import os.path as path, shop.cart as c\nfrom __future__ import annotations\n",
    "tools/json.py": "",
    "tools/run.py": "import json\n",
    "plain/space/a.py": "from plain.space import b\nimport plain.space.b\n",
    "plain/space/b.py": "from plain.space.a import a\nfrom shop.json import x\n",
}
PYTHON_EDGES = {
    "src/shop/__init__.py": "src/shop/cart.py src/shop/prices.py",
    "src/shop/cart.py": "src/shop/prices.py src/shop/stock/__init__.py",
    "src/shop/prices.py": "src/shop/stock/levels.py",
    "src/shop/stock/__init__.py": "src/shop/stock/levels.py",
    "src/shop/stock/levels.py": "src/shop/cart.py",
    "tests/test_cart.py": "src/shop/cart.py src/shop/stock/__init__.py src/shop/stock/levels.py tests/helpers.py",
    "tests/helpers.py": "src/shop/cart.py",
    "tools/run.py": "tools/json.py",
    "plain/space/a.py": "plain/space/b.py",
    "plain/space/b.py": "plain/space/a.py src/shop/json.py",
}
JAVASCRIPT = {
    "package.json": '{"name": "root", "workspaces": ["packages/*"]}',
    "tsconfig.json": '{ // the base\n "compilerOptions":'
    ' {"baseUrl": ".", "paths": {"@app/*": ["web/src/*"],}, /* */ },\n}',
    "web/tsconfig.json": '{"extends": "../tsconfig.json", "compilerOptions": {"strict": true}}',
    "web/src/main.ts": "import React from 'react'\nimport './style.css'\nimport { a } from './views'\n"
    "import type { T } from '@app/types'\nexport * from \"./util.js\"\nimport legacy = require('./old')\n",
    "web/src/views/index.tsx": "const Late = lazy(() => import('../late'))\nexport const x = <div>{require}</div>\n",
    "web/src/late.mjs": "import { core } from '@acme/core'\nimport sub from '@acme/core/deep'\n",
    "web/src/old.js": "const u = require('./util'), n = require(name), f = require('../../outside/../../..')\n",
    "web/src/util.ts": "import { v } from 'web/src/views'\nexport { y } from './types'\n// import './late'\n",
    "web/src/types.d.ts": "export type T = 1\n",
    "packages/core/package.json": '{"name": "@acme/core", "main": "dist/index.js"}',
    "packages/core/src/index.ts": "export * from '.'\nexport * from './deep'\n",
    "packages/core/src/deep.ts": "import root from '../../..'\n",
}
JAVASCRIPT_EDGES = {
    "web/src/main.ts": "web/src/old.js web/src/types.d.ts web/src/util.ts web/src/views/index.tsx",
    "web/src/views/index.tsx": "web/src/late.mjs",
    "web/src/late.mjs": "packages/core/src/deep.ts packages/core/src/index.ts",
    "web/src/old.js": "web/src/util.ts",
    "web/src/util.ts": "web/src/types.d.ts web/src/views/index.tsx",
    "packages/core/src/index.ts": "packages/core/src/deep.ts",
}
GO = {
    "go.mod": "module example.com/shop // the shop\n\ngo 1.22\n",
    "main.go": 'package main\nimport (\n\t"fmt"\n\tc "example.com/shop/cart"\n\t_ "example.com/tools"\n)\n',
    "cart/cart.go": 'package cart\nimport "example.com/shop/internal/price"\nimport "example.com/shopping/cart"\n',
    "cart/line.go": "package cart\n",
    "cart/cart_test.go": "package cart_test\nimport . `example.com/shop/cart`\n",
    "internal/price/price.go": "package price\n",
    "tools/go.mod": 'module "example.com/tools"\n',
    "tools/tool.go": 'package tools\nimport "example.com/shop"\n',
}
GO_EDGES = {
    "main.go": "cart/cart.go cart/line.go tools/tool.go",
    "cart/cart.go": "internal/price/price.go",
    "cart/cart_test.go": "cart/cart.go cart/line.go",
    "tools/tool.go": "main.go",
}
RUST = {
    "Cargo.toml": '[workspace]\nmembers = ["shop", "price-list"]\n',
    "shop/Cargo.toml": '[package]\nname = "shop"\n',
    "shop/src/lib.rs": 'pub mod cart;\nmod stock;\n#[path = "odd/name.rs"]\nmod named;\nuse std::fmt;\n',
    "shop/src/main.rs": "use shop::cart::Cart;\nmod cli;\nuse crate::cli::run;\n",
    "shop/src/cli.rs": "use super::Main;\n",
    "shop/src/cart.rs": "use crate::{stock::{self, levels::Low}, Config};\nuse price_list::sale as s;\nmod line;\n"
    "mod tests {\n    use super::*;\n    use super::line::Line;\n    mod deep { use crate::stock::*; }\n}\n",
    "shop/src/cart/line.rs": "use super::Cart;\nuse super::super::stock;\n",
    "shop/src/stock/mod.rs": "pub mod levels;\nuse self::levels::Low;\nuse super::cart;\n",
    "shop/src/stock/levels.rs": "use super::Item;\nuse crate::cart::line::Line;\n",
    "shop/src/odd/name.rs": "",
    "shop/tests/buy.rs": "mod common;\nuse shop::stock::levels;\n",
    "shop/tests/common/mod.rs": "",
    "price-list/Cargo.toml": '[package]\nname = "price-list"\n[lib]\npath = "src/all.rs"\n',
    "price-list/src/all.rs": "mod sale;\n",
    "price-list/src/sale.rs": "use crate::Price;\n",
}
RUST_EDGES = {
    "shop/src/lib.rs": "shop/src/cart.rs shop/src/odd/name.rs shop/src/stock/mod.rs",
    "shop/src/main.rs": "shop/src/cart.rs shop/src/cli.rs",
    "shop/src/cli.rs": "shop/src/lib.rs",
    "shop/src/cart.rs": "price-list/src/sale.rs shop/src/cart/line.rs shop/src/lib.rs shop/src/stock/levels.rs"
    " shop/src/stock/mod.rs",
    "shop/src/cart/line.rs": "shop/src/cart.rs shop/src/stock/mod.rs",
    "shop/src/stock/mod.rs": "shop/src/cart.rs shop/src/stock/levels.rs",
    "shop/src/stock/levels.rs": "shop/src/cart/line.rs shop/src/stock/mod.rs",
    "shop/tests/buy.rs": "shop/src/stock/levels.rs shop/tests/common/mod.rs",
    "price-list/src/all.rs": "price-list/src/sale.rs",
    "price-list/src/sale.rs": "price-list/src/all.rs",
}
JAVA = {
    "app/src/main/java/com/shop/Cart.java": "package com.shop;\nimport java.util.List;\nimport com.shop.price.Money;\n"
    "import static com.shop.util.Text.trim;\nclass Cart { Line line = Line.of(); List<String> all; }\n",
    "app/src/main/java/com/shop/Line.java": "package com.shop;\nimport com.shop.price.*;\nclass Line { Tax tax; }\n",
    "app/src/main/java/com/shop/Idle.java": "package com.shop;\nclass Idle { /* Cart */ }\n",
    "app/src/main/java/com/shop/price/Money.java": "package com.shop.price;\nimport com.shop.Cart.Inner;\n",
    "app/src/main/java/com/shop/price/Tax.java": "package com.shop.price;\nclass Tax extends Money {}\n",
    "app/src/main/java/com/shop/util/Text.java": "package com.shop.util;\nclass Text { Line notOurs; }\n",
    "other/com/shop/Line.java": "package com.shop;\nclass Line {}\n",
    "other/com/shop/Use.java": "package com.shop;\nclass Use { Line line; }\n",
}
JAVA_EDGES = {
    "app/src/main/java/com/shop/Cart.java": "app/src/main/java/com/shop/Line.java"
    " app/src/main/java/com/shop/price/Money.java app/src/main/java/com/shop/util/Text.java",
    "app/src/main/java/com/shop/Line.java": "app/src/main/java/com/shop/price/Tax.java",
    "app/src/main/java/com/shop/price/Money.java": "app/src/main/java/com/shop/Cart.java",
    "app/src/main/java/com/shop/price/Tax.java": "app/src/main/java/com/shop/price/Money.java",
    "other/com/shop/Use.java": "other/com/shop/Line.java",
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [(PYTHON, PYTHON_EDGES), (JAVASCRIPT, JAVASCRIPT_EDGES), (GO, GO_EDGES), (RUST, RUST_EDGES), (JAVA, JAVA_EDGES)],
    ids=["python", "javascript", "go", "rust", "java"],
)
def test_imports_become_edges(
    store: SqliteStore, tmp_path: Path, files: dict[str, str], expected: dict[str, str]
) -> None:
    """Every import of the project is an edge to the file it means; what is not in the project is none."""
    root = write_tree(tmp_path / "repository", files)
    report = build(store, root)
    found: dict[str, list[str]] = {}
    for start, end in edges(store, root):
        found.setdefault(start, []).append(end)
    assert found == {start: ends.split() for start, ends in expected.items()}
    assert report.counts["parsed"] == report.files
    assert report.counts[CodeFile.BROKEN] == 0


def test_only_what_changed_is_parsed_again(store: SqliteStore, tmp_path: Path) -> None:
    """By size and time, else by content; new files resolve old imports, files that are gone take their edges along."""
    root = write_tree(tmp_path, {"a.py": "import b\nimport late\n", "b.py": "", "c.py": "import a\n"})
    assert build(store, root).counts["parsed"] == 3
    again = build(store, root)
    assert (again.counts["parsed"], again.counts["unchanged"]) == (0, 3)
    os.utime(root / "b.py")
    assert build(store, root).counts["parsed"] == 0
    write_tree(root, {"late.py": "import c\n"})
    root.joinpath("b.py").unlink()
    report = build(store, root)
    assert (report.counts["parsed"], report.counts["removed"]) == (1, 1)
    assert edges(store, root) == [("a.py", "late.py"), ("c.py", "a.py"), ("late.py", "c.py")]


def test_an_edit_within_one_tick_of_the_clock_is_seen(store: SqliteStore, tmp_path: Path) -> None:
    """A file of the same size and time, written again right after it was read, is read anew."""
    root = write_tree(tmp_path, {"a.py": "import b\n", "b.py": "", "c.py": ""}, is_old=False)
    now = time.time_ns()
    os.utime(root / "a.py", ns=(now, now))
    build(store, root)
    root.joinpath("a.py").write_text("import c\n")
    os.utime(root / "a.py", ns=(now, now))
    build(store, root)
    assert edges(store, root) == [("a.py", "c.py")]


_NAMES = ("a.py", "b.py", "p/__init__.py", "p/a.py", "p/b.py", "web/x.ts", "web/y.js", "web/z/index.ts")
_LINES = ("import a", "import b", "import p.a", "from p import b", "from . import a", "import x from './x'",
          "require('./y')", "import z from './z'", "import ((", "")  # fmt: skip
_EDIT = st.tuples(st.sampled_from(_NAMES), st.none() | st.lists(st.sampled_from(_LINES), max_size=3))


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rounds=st.lists(st.lists(_EDIT, max_size=4), min_size=1, max_size=4))
def test_a_build_after_edits_equals_a_fresh_one(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[list[tuple[str, list[str] | None]]]
) -> None:
    """Whatever is written and deleted in whatever order."""
    root = tmp_path_factory.mktemp("edited")
    incremental = SqliteStore(str(tmp_path_factory.mktemp("one")))
    for edits in rounds:
        for name, lines in edits:
            if lines is None:
                root.joinpath(name).unlink(missing_ok=True)
            else:
                write_tree(root, {name: "\n".join(lines)}, is_old=False)
        build(incremental, root)
    fresh = SqliteStore(str(tmp_path_factory.mktemp("two")))
    report = build(fresh, root)
    assert edges(incremental, root) == edges(fresh, root)
    project_id = incremental.projects.of_root(str(root))
    assert project_id is not None
    kept = incremental.code_graph.files(project_id)
    assert {path: file.imports for path, file in kept.items()} == {
        path: file.imports for path, file in fresh.code_graph.files(report.project_id).items()
    }
    incremental.close()
    fresh.close()


def test_what_git_ignores_is_left_out(store: SqliteStore, tmp_path: Path) -> None:
    """Tracked and new files are in, ignored ones not; a repository's own settings start no program."""
    root = write_tree(
        tmp_path / "r", {".gitignore": "made/\n", "a.py": "import made.x\nimport new\n", "made/x.py": "", "new.py": ""}
    )
    git(root, "init")
    git(root, "add", "a.py", ".gitignore")
    git(root, "config", "core.fsmonitor", f"touch {tmp_path}/was-run; false")
    assert build(store, root).files == 2
    assert edges(store, root) == [("a.py", "new.py")]
    assert not (tmp_path / "was-run").exists()


def test_a_folder_without_git_is_walked_with_care(store: SqliteStore, tmp_path: Path) -> None:
    """Other people's code, hidden folders and links in a circle are not entered; too many files are said."""
    root = write_tree(
        tmp_path / "r",
        {"a.py": "import b", "b.py": "", "node_modules/x/i.js": "", ".venv/x.py": "", "build/y.py": "", "z/c.py": ""},
    )
    (root / "z" / "loop").symlink_to(root, target_is_directory=True)
    assert build(store, root).files == 3
    report = build(store, root, max_files=2)
    assert (report.files, report.limits) == (2, ["files"])
    assert edges(store, root) == [("a.py", "b.py")]


def test_hostile_files_are_counted_and_never_followed(store: SqliteStore, tmp_path: Path) -> None:
    """Binary, huge, broken, unreadable, linked and special files: a build goes on, and nothing outside is read."""
    write_tree(tmp_path / "outside", {"secret.py": "import a\n"})
    token = "gh" + "p_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    root = write_tree(
        tmp_path / "r",
        {
            "a.py": "import b, linked, folder.secret, pipe\nfrom .. import outside\nfrom ..outside import secret\n",
            "b.py": "import a\nimport ((((\n",
            "binary.py": b"\x00\x01import a\n" * 100,
            "large.js": b"import './a'\n" * 900_000,
            "latin.py": "import a  # \xe9".encode("latin-1"),
            "web.js": f"import '../../../../etc/passwd'\nimport 'https://x:{token}@host/y.js'\nrequire('{token}')\n",
        },
    )
    (root / "linked.py").symlink_to(tmp_path / "outside" / "secret.py")
    (root / "folder").symlink_to(tmp_path / "outside", target_is_directory=True)
    os.mkfifo(root / "pipe.py")
    report = build(store, root)
    assert (report.files, report.counts[CodeFile.BROKEN]) == (6, 1)
    assert (report.counts[CodeFile.BINARY], report.counts[CodeFile.LARGE]) == (1, 1)
    assert edges(store, root) == [("a.py", "b.py"), ("b.py", "a.py"), ("latin.py", "a.py")]
    kept = store.code_graph.files(report.project_id)
    assert not [one for file in kept.values() for one in file.imports if token in one]


def test_a_folder_that_became_a_link_leads_nowhere(store: SqliteStore, tmp_path: Path) -> None:
    """Git still lists the files below; they are not read through the link."""
    root = write_tree(tmp_path / "r", {"a.py": "import p.b\n", "p/b.py": ""})
    git(root, "init")
    git(root, "add", ".")
    (root / "p").rename(tmp_path / "away")
    (root / "p").symlink_to(tmp_path / "away", target_is_directory=True)
    assert build(store, root).files == 1
    assert edges(store, root) == []


LEVELS = of(3000, 6000)
_NESTED = {
    "calls": ("f(", "1", ")"), "chain": ("", "x", ".y()"), "brackets": ("[", "", "]"), "open": ("[{(", "", ""),
    "requires": ("require(", "'a'", ")"), "modules": ("mod a {", "", "}"), "uses": ("use a::{", "b", "}"),
}  # fmt: skip


@pytest.mark.parametrize("shape", _NESTED)
@pytest.mark.parametrize("name", sorted({name for language in LANGUAGES for name in language.suffixes.values()}))
def test_deep_nesting_takes_no_more_than_its_time(name: str, shape: str) -> None:
    """Thousands of levels end within the limit, read or left out; a reader adds little to it."""
    language = next(language for language in LANGUAGES if name in language.suffixes.values())
    begin, middle, end = _NESTED[shape]
    source = (begin * LEVELS + middle + end * LEVELS).encode()
    grammar = Grammar(name, language.query, language.kinds)
    started = time.process_time()
    try:
        nodes, _ = grammar.nodes(source, limit_s=0.5)
        language.read(nodes)
    except TooSlowError:
        pass
    assert time.process_time() - started < 5
