"""Pages over one store, for one browser: which address is which page, how values become text, what was changed."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from howcome.app import now_ms
from howcome.domain.events import squeeze
from howcome.domain.text import title_of
from howcome.domain.verdicts import RULES
from howcome.errors import HowcomeError, NotFoundError, OwnerError, UsageError
from howcome.mcp.workplace import Workplace
from howcome.present.next_step import next_step
from howcome.present.render import counted, plain
from howcome.present.screen import day, local_time
from howcome.present.views import kind_of, short_session
from howcome.web.changes import CHANGES, Change
from howcome.web.guard import MAX_FORM_BYTES, Guard, Keys, same
from howcome.web.pages import PAGES, Asked, findings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.requests import Request

    from howcome.app import App
    from howcome.doctor.base import Finding

FOLDER = os.path.dirname(__file__)
ASSETS = ("style.css", "keys.js")
UNDO, EXAMINE = "undo", "examine"
TITLE_CHARS = 220
_STATUS = {NotFoundError: 404, UsageError: 400, OwnerError: 409}


class Viewer:
    """What is looked at, and what has been changed here: each change can be taken back while the viewer runs.

    The project that was chosen last is shown until another one is: first the one of the folder.
    """

    def __init__(self, environment: Mapping[str, str], folder: str, keys: Keys) -> None:
        self._place, self._keys = Workplace(environment, folder), keys
        self._project = ""
        self._lock = threading.Lock()  # one thread at a time uses a store
        self._examined: list[Finding] | None = None
        self._changes: list[Change | None] = []
        self._news: list[tuple[str, int]] = []
        self.looked_s = time.monotonic()
        self._labels: dict[str, str] = {}
        self._templates = _templates(keys, self._labels)
        routes = [Route(f"{keys.root}/{name}", self._page, methods=["GET"]) for name in ("", *PAGES)]
        routes += [Route(f"{keys.root}/{name}", self._asset, methods=["GET"]) for name in ASSETS]
        routes.append(Route(keys.root + "/do/{name}", self._post, methods=["POST"]))
        missing = {404: lambda request, _: self._problem(request, NotFoundError("there is no such page"))}
        self.answers = Guard(Starlette(routes=routes, exception_handlers=missing), keys, self._look)

    def prepare(self) -> None:
        """Opens the store and makes the first page, so that nobody waits for what is done once.

        Raises:
            HowcomeError: the store or the settings cannot be read.
        """
        self._project = str(self._place.app.projects.scope_of(self._place.folder).project_id or "")
        PAGES["today"].make(Asked(self._place.app, {}))
        for name in ("base", "parts", "today"):
            self._templates.get_template(f"{name}.html")

    def close(self) -> None:
        """Gives the store back."""
        if self._place.opened is not None:
            self._place.opened.close()

    def _look(self) -> None:
        self.looked_s = time.monotonic()

    def _asset(self, request: Request) -> Response:
        return FileResponse(os.path.join(FOLDER, "assets", _last(request)))

    def _page(self, request: Request) -> Response:
        name = _last(request) or "today"
        if name == "health" and self._examined is None:
            self._examined = findings()  # seconds, in which other pages are shown
        try:
            with self._lock:
                project = request.query_params.get("project", self._project)
                asked = Asked(self._place.app, {**request.query_params, "project": project}, self._examined)
                page = self._shown(request, name, {**self._around(asked), **PAGES[name].make(asked)})
                if request.method == "GET":
                    self._project = project
                return page
        except HowcomeError as error:
            return self._problem(request, error)

    def _around(self, asked: Asked) -> dict[str, Any]:
        """What every page has: the projects to choose from, and what has just been changed."""
        news, self._news = self._news, []
        roots = sorted(asked.app.projects.roots(), key=lambda one: one[1].rpartition("/")[2].casefold())
        self._labels.update(labels_of([root for _, root in roots]))
        return {"projects": roots, "project": asked.scope.project_id or "", "news": news}

    def _shown(self, request: Request, name: str, values: Mapping[str, Any], status: int = 200) -> Response:
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        about = {"page": name, "nonce": request.scope["nonce"], "here": here, "now": now_ms()}
        return HTMLResponse(self._templates.get_template(f"{name}.html").render(**about, **values), status)

    def _problem(self, request: Request, error: HowcomeError) -> Response:
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 503)
        title = "Not found" if status == 404 else "Not done"
        values = {"projects": [], "project": "", "news": [], "title": title, "problem": f"{error}{next_step(error)}"}
        return self._shown(request, "problem", values, status)

    async def _post(self, request: Request) -> Response:
        """A change: a form with the secret of this viewer's forms."""
        data = b""
        try:
            async for piece in request.stream():
                data += piece
                if len(data) > MAX_FORM_BYTES:
                    return self._problem(request, UsageError("the form is too large"))
        except ClientDisconnect:
            return Response(status_code=400)
        form = dict(parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True))
        if not same(form.get("form", ""), self._keys.form):
            return self._problem(request, UsageError("this form is of another viewer: go back and load the page again"))
        return await run_in_threadpool(self._change, request, request.path_params["name"], form)

    def _change(self, request: Request, name: str, form: Mapping[str, str]) -> Response:
        to = ""
        try:
            with self._lock:
                if name == EXAMINE:
                    self._examined = None
                elif name == UNDO:
                    to = self._undo(self._place.app, form.get("change", "")).undo_leads_to
                elif name in CHANGES:
                    change = CHANGES[name](self._place.app, form)
                    to = change.leads_to
                    self._changes.append(change)
                    self._news.append((change.said, len(self._changes) - 1))
                else:
                    raise NotFoundError("there is no such change")
        except HowcomeError as error:
            return self._problem(request, error)
        back = f"{self._keys.root}/memory?id={to}" if to else form.get("back", "")
        is_ours = back.startswith(f"{self._keys.root}/") and re.fullmatch(r"[!-~]+", back) and "\\" not in back
        return RedirectResponse(back if is_ours else f"{self._keys.root}/", 303)

    def _undo(self, app: App, number: str) -> Change:
        is_known = number.isascii() and number.isdigit() and len(number) < 9 and int(number) < len(self._changes)
        change = self._changes[int(number)] if is_known else None
        if change is None:
            raise UsageError("that was taken back already, or another viewer changed it")
        change.undo(app)
        self._changes[int(number)] = None
        now = f" {change.undo_leads_to} stands again." if change.undo_leads_to else ""
        self._news.append((f"Undone: “{change.said}”{now}", -1))
        return change


def _last(request: Request) -> str:
    return str(request.url.path).rpartition("/")[2]


def _templates(keys: Keys, labels: Mapping[str, str]) -> Environment:
    """Templates: everything is escaped, and nothing that is shown moves a cursor or turns words round."""
    made = Environment(
        loader=FileSystemLoader(os.path.join(FOLDER, "templates")), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_seen, auto_reload=False,
    )  # fmt: skip
    made.filters |= {
        "counted": counted, "who": kind_of,
        "name": lambda root: labels.get(root) or str(root).rpartition("/")[2] or root,
        "at": lambda ms: local_time(ms, now_ms()), "when": day, "short": short_session,
        "marked": _marked, "linked": lambda said: _linked(said, keys.root),
        "title_of": lambda prompt: squeeze(title_of(prompt), TITLE_CHARS),
    }  # fmt: skip
    made.globals |= {"root": keys.root, "form_key": keys.form, "pages": PAGES, "rules": RULES}
    return made


def labels_of(roots: Iterable[str]) -> dict[str, str]:
    """Each project by as many of its last folders as tell it from the others."""
    tails = {root: ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]
             for root in roots if (parts := root.strip("/").split("/"))}  # fmt: skip
    times = Counter(tail for some in tails.values() for tail in some)
    return {root: next((tail for tail in some if times[tail] == 1), root) for root, some in tails.items()}


def _seen(value: object) -> object:
    """A value as it is shown."""
    if value is None or isinstance(value, Markup):
        return value if value is not None else ""
    return plain(value) if isinstance(value, str) else value


def _linked(said: str, root: str) -> Markup:
    """A sentence of ours in which each memory's id leads to it."""
    parts = re.split(r"(mem-[0-9a-f]{4,32})", plain(said))
    link = Markup('<a href="{}/memory?id={}">{}</a>')
    return Markup("").join(link.format(root, part, part) if n % 2 else escape(part) for n, part in enumerate(parts))


def _marked(text: str, words: Iterable[str]) -> Markup:
    """A text in which some words stand out."""
    named = sorted(filter(None, (plain(word) for word in words)), key=len, reverse=True)
    any_word = f"({'|'.join(map(re.escape, named)) or '(?!)'})"
    parts = re.split(any_word, plain(text), flags=re.IGNORECASE)
    mark = Markup("<mark>{}</mark>")
    return Markup("").join(mark.format(part) if place % 2 else escape(part) for place, part in enumerate(parts))
