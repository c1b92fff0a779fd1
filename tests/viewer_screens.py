"""Pictures of the viewer's pages in a headless Chromium, where one is installed: for `tests.screens`."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests import chromium

from howcome.web.pages import PAGES

if TYPE_CHECKING:
    from tests.chromium import Chromium

WIDTHS, MAX_HEIGHT = (1280, 400), 2600
DOCUMENT = (1100, 760)
_EDIT = """
const edit = [...document.querySelectorAll('details.step')].find((one) => one.querySelector('.diff .removed'));
edit.open = true; edit.scrollIntoView(); scrollBy(0, -240);
"""


@contextmanager
def _window(environment: Mapping[str, str]) -> Iterator[tuple[Chromium, str]]:
    words = [sys.executable, "-m", "howcome", "view", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, cwd=environment["HOME"]) as process:
        assert process.stdout is not None
        link = json.loads(process.stdout.readline())["link"]
        try:
            with chromium.started() as window:
                window.open(link)
                yield window, window.address
        except pytest.skip.Exception as missing:
            print(missing, file=sys.stderr)
        finally:
            process.terminate()


def of_pages(environment: Mapping[str, str], folder: Path) -> None:
    """Every page in both themes, wide and narrow: `view-PAGE.WIDTH.THEME.png`."""
    with _window(environment) as (window, root):
        names = {name: name for name, page in PAGES.items() if page.title}
        names |= {"session": "session?id=1", "search": "search?q=why+not+redis+for+duplicates"}
        for theme, width in ((theme, width) for theme in ("light", "dark") for width in WIDTHS):
            for name, address in names.items():
                window.look(theme, width)
                window.open(root + address)
                high = window.run("return document.documentElement.scrollHeight")
                window.look(theme, width, min(high, MAX_HEIGHT))
                _save(window, folder / f"view-{name}.{width}.{theme}.png")


def of_documents(environment: Mapping[str, str], folder: Path) -> None:
    """What docs/viewer.md shows."""
    with _window(environment) as (window, root):
        window.look("light", *DOCUMENT)
        window.open(root)
        _save(window, folder / "viewer-today.png")
        window.look("dark", *DOCUMENT)
        window.open(root + "session?id=1")
        window.run(_EDIT)
        _save(window, folder / "viewer-session.png")


def _save(window: Chromium, path: Path) -> None:
    path.write_bytes(base64.b64decode(window.picture()))
