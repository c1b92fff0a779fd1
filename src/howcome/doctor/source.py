"""Where this howcome was installed from, and so how a newer one comes here."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from urllib.parse import unquote, urlsplit

from howcome.doctor.base import quoted

_TOOLS = {"pipx/venvs": ("pipx", "install", "--force"), "uv/tools": ("uv", "tool", "install", "--force")}
"""Part of an environment's path → what made it, and what makes it anew."""

_NEUTRAL = "install a newer howcome the way this one was installed; then howcome upgrade"


def update_remedy() -> str:
    """What brings a newer howcome here, by what the installer noted (PEP 610): it is in no package registry."""
    return remedy_for(_noted(), sys.prefix)


def _noted() -> object:
    """What the installer noted; None when it noted nothing that can be read."""
    try:
        return json.loads(metadata.distribution("howcome").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return None


def _place(noted: object) -> tuple[str, str, bool]:
    """A repository's address, or a folder, "" for what it is not; and whether what runs is the folder itself."""
    url = noted.get("url") if isinstance(noted, dict) else None
    if not isinstance(noted, dict) or not isinstance(url, str):
        return "", "", False
    if "vcs_info" in noted:
        vcs = noted["vcs_info"].get("vcs", "git") if isinstance(noted["vcs_info"], dict) else "git"
        return f"{vcs}+{url}", "", False
    is_editable = isinstance(noted.get("dir_info"), dict) and noted["dir_info"].get("editable") is True
    return "", unquote(urlsplit(url).path) if url.startswith("file:") else "", is_editable


def remedy_for(noted: object, prefix: str) -> str:
    """The same for what was noted, in an environment."""
    repository, folder, is_editable = _place(noted)
    if repository:
        return f"{quoted(*_install(prefix), '--upgrade', repository)} && howcome upgrade"
    if not folder or not os.path.exists(os.path.join(folder, ".git")):
        return _NEUTRAL
    words = [*_install(prefix), *(["--editable"] if is_editable else []), folder]
    return f"{quoted('git', '-C', folder, 'pull')} && {quoted(*words)} && howcome upgrade"


def extra_remedy(extra: str, packages: Sequence[str]) -> str:
    """What brings the packages of an extra here: from where howcome came from, else the packages by themselves."""
    return extra_remedy_for(extra, packages, _noted(), sys.prefix)


def extra_remedy_for(extra: str, packages: Sequence[str], noted: object, prefix: str) -> str:
    """The same for what was noted, in an environment."""
    repository, folder, is_editable = _place(noted)
    if repository:
        return quoted(*_install(prefix), f"howcome[{extra}] @ {repository}")
    if folder and os.path.isdir(folder):
        return quoted(*_install(prefix), *(["--editable"] if is_editable else []), f"{folder}[{extra}]")
    if "pipx/venvs" in prefix:
        return quoted("pipx", "inject", "howcome", *packages)
    return quoted(*_with_pip(), *packages)


def _install(prefix: str) -> tuple[str, ...]:
    return next((words for part, words in _TOOLS.items() if part in prefix), None) or _with_pip()


def _with_pip() -> tuple[str, ...]:
    """What installs into this environment; there is no pip in one of uv's."""
    if importlib.util.find_spec("pip") is None:
        return ("uv", "pip", "install", "--python", sys.executable)
    return (sys.executable, "-m", "pip", "install")
