"""What howcome makes in its folder, by exact name: the folder may be shared, and all else in it is its user's.

howcome makes no links, so a link is its user's too, and nothing behind one is looked at.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from howcome.files import PART
from howcome.log.place import FILES
from howcome.settings import CONFIG_NAME, FIELDS

Names: TypeAlias = "Mapping[str, Names] | None"
"""What is ours in a folder: names (regular expressions) → what is ours in it, `_ALL` for all; None is a file."""

DATED = r"\d{4}-\d\d-\d\d(-\d{4,6})?"
"""Folders with a database that was damaged, or for which a backup was put back."""

_PART = rf"{PART}|\.part"
"""What a kill may leave of a file; without a number: of an earlier version's."""

_ALL: dict[str, Names] = {"(?s:.*)": None}
_BRANCHES = rf"branches\.json({_PART})?"
_STORE: dict[str, Names] = {
    FILES: None,
    r"index(-damaged-\d+)?": {r"(lexical|memories)-\d+(-damaged-\d+)?|vectors-\d+-.+": _ALL},
}
_SPOOL: dict[str, Names] = {
    r"observations\.jsonl|append\.lock|claim\.lock|key(\.part)?": None,
    rf"batch-\d+-[0-9a-f]+\.jsonl({_PART})?": None,
    "dead": {rf"batch-\d+-[0-9a-f]+\.(failed-\d+-\w+|records)\.jsonl({_PART})?": None},
}
_INSTALLS: dict[str, Names] = {
    rf"[0-9a-f]{{16}}(\.json|-[0-9a-f]{{16}}\.original)({_PART})?": None,
    r"\.[0-9a-f]{16}.*\.howcome-tmp": None,
}
_MODEL_FILES: dict[str, Names] = {r"model\.(onnx|json)|tokenizer\.json": None}
_MODELS: dict[str, Names] = {
    "lock": None,
    r"(minilm-l6-v2|bert-[0-9a-f]{12})-int8-\d+": _MODEL_FILES,
    r"\.building-\w+": {**_MODEL_FILES, "old": _MODEL_FILES},
    r"\.download-\w+": _ALL,
    "fastembed|kingfisher": _ALL,
}
RECORDS = "installs"
"""The folder with what is needed to undo an install."""

OWN: Mapping[str, Names] = {
    **_STORE,
    r"(hook-errors|prompts)\.log(\.old)?|kept-memories|worker\.(lock|sock)|(distil|team)\.lock": None,
    rf"(author-key|(shared|team|graduation)\.json)({_PART})?": None,
    "sync": {rf"(key|remote|state\.json)({_PART})?|lock": None, "git": _ALL},
    _BRANCHES: None,
    "servers": {
        "[0-9a-f]{12}": {name: inner for name, inner in _STORE.items() if inner}
        | {_BRANCHES: None, "kept-memories": None}
    },
    "spool": _SPOOL,
    RECORDS: _INSTALLS,
    "models": _MODELS,
    "damaged|replaced": {**_STORE, DATED: {**_STORE, r"memories\.jsonl": None, "new": _ALL}},
    "backups": {
        rf"(memories|config)-\d{{4}}-\d\d-\d\d\.(jsonl|toml)({_PART})?": None,
        rf"howcome-\d{{4}}-\d\d-\d\d-\d{{6}}\.db(({_PART}|\.\d+\.part)(-wal|-shm|-journal)?)?": None,
    },
}


CONFIG_HEAD = "# Settings of howcome: "
"""What a `config.toml` begins with that `howcome config` made."""


def own_paths(home: str) -> list[str]:
    """Every file and folder of ours in the memory's folder, each before what is in it; its own path is not among them.

    `config.toml` is its user's, and counts as ours when it holds howcome's settings and nothing else, or nothing.
    """
    return [path for path, is_own in _walk(home, OWN) if is_own] + _our_config(home)


def foreign_paths(home: str) -> list[str]:
    """What lies in the folder that is not ours; of a folder that is not ours only its own path."""
    config = _our_config(home)
    return [path for path, is_own in _walk(home, OWN) if not is_own and path not in config]


def _walk(folder: str, names: Mapping[str, Names]) -> Iterator[tuple[str, bool]]:
    try:
        found = sorted(os.listdir(folder))
    except OSError:  # gone meanwhile, not a folder, not ours to read
        return
    for name in found:
        path = os.path.join(folder, name)
        pattern = next((pattern for pattern in names if re.fullmatch(pattern, name)), None)
        inner = None if pattern is None else names[pattern]
        is_folder = os.path.isdir(path)
        is_own = pattern is not None and not os.path.islink(path) and (names is _ALL or is_folder == bool(inner))
        yield path, is_own
        if is_own and is_folder:
            yield from _walk(path, _ALL if inner is None else inner)


def _our_config(home: str) -> list[str]:
    path = os.path.join(home, CONFIG_NAME)
    try:
        with open(path, "rb") as stream:
            text = stream.read().decode()
            keys = set(tomllib.loads(text))
    except (OSError, ValueError):
        return []
    is_ours = keys <= {field.name for field in FIELDS} if keys else text.startswith(CONFIG_HEAD)
    return [path] if is_ours else []
