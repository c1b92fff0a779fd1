"""A headless Chromium, driven over the WebDriver protocol; tests that need one skip where it is not installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT_S = 60
ENTER, ESCAPE = "\ue007", "\ue00c"
OPTIONS = ["--headless=new", "--disable-gpu", "--hide-scrollbars", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
_IS_THERE = """const styles = [...document.querySelectorAll("link[rel=stylesheet]")];
return document.readyState === "complete" && styles.every((one) => one.sheet)"""
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Chromium:
    """One window."""

    def __init__(self, port: int) -> None:
        self._port, self._session = port, ""
        wanted = {"goog:chromeOptions": {"args": OPTIONS}, "goog:loggingPrefs": {"browser": "ALL"}}
        self._session = "/session/" + self._call("POST", "/session", capabilities={"alwaysMatch": wanted})["sessionId"]

    def _call(self, method: str, path: str, **values: Any) -> Any:
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=LIMIT_S)) as connection:
            body = json.dumps(values) if method == "POST" else None
            connection.request(method, self._session + path, body, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        assert not (isinstance(value, dict) and "error" in value), value
        return value

    def close(self) -> None:
        """Ends it, with its profile."""
        self._call("DELETE", "")

    def open(self, address: str, *, has_style: bool = True) -> None:
        """Goes to a page, and waits until it is there: of 700 pages the driver gave two back without their style."""
        self._call("POST", "/url", url=address)
        if not has_style:
            return
        ends = time.monotonic() + LIMIT_S
        while not self.run(_IS_THERE) and time.monotonic() < ends:
            time.sleep(0.02)

    @property
    def address(self) -> str:
        """Where it is."""
        return str(self._call("GET", "/url"))

    def run(self, script: str, *values: object) -> Any:
        """What a script returns that the page's policy has no say in."""
        return self._call("POST", "/execute/sync", script=script, args=list(values))

    def wait(self, script: str, *values: object) -> Any:
        """What a script hands to its last argument, a function, in its own time."""
        return self._call("POST", "/execute/async", script=script, args=list(values))

    def press(self, *keys: str) -> None:
        """Presses keys one after the other, wherever the focus is."""
        for key in keys:
            both = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
            self._call("POST", "/actions", actions=[{"type": "key", "id": "keys", "actions": both}])

    def click(self, selector: str) -> None:
        """Clicks the first element of a selector."""
        found = self._call("POST", "/element", using="css selector", value=selector)[_ELEMENT]
        self._call("POST", f"/element/{found}/click")

    def complaints(self) -> list[str]:
        """What its console has said since the last time."""
        return [str(one["message"]) for one in self._call("POST", "/se/log", type="browser")]

    def look(self, theme: str, width: int, height: int = 900) -> None:
        """Shows pages in a theme (`light`, `dark`) and a size from now on."""
        features = [{"name": "prefers-color-scheme", "value": theme}]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self._call("POST", "/goog/cdp/execute", cmd="Emulation.setEmulatedMedia", params={"features": features})
        self._call("POST", "/goog/cdp/execute", cmd="Emulation.setDeviceMetricsOverride", params=size)

    def picture(self) -> str:
        """What is seen, as PNG in base 64."""
        return str(self._call("GET", "/screenshot"))


@contextmanager
def started() -> Iterator[Chromium]:
    """A window; skips the test where there is no Chromium."""
    driver = shutil.which("chromedriver")
    if driver is None or not (shutil.which("chromium") or shutil.which("google-chrome")):
        pytest.skip("no Chromium here (Debian: apt-get install chromium chromium-driver)")
    quiet = subprocess.DEVNULL
    with subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=quiet, text=True) as process:
        try:
            assert process.stdout is not None
            said = next(line for line in process.stdout if "successfully" in line)
            window = Chromium(int(re.findall(r"on port (\d+)", said)[0]))
            try:
                yield window
            finally:
                window.close()
        finally:
            process.terminate()
