"""One client of the MCP server: its tools are called here, beside the worker."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from types import TracebackType

from howcome.clients.registry import DEFAULT
from howcome.errors import HowcomeError
from howcome.mcp.arguments import Arguments
from howcome.mcp.tools import HOOK, TOOLS
from howcome.mcp.workplace import Workplace
from howcome.present.guarded import guarded
from howcome.present.next_step import next_step
from howcome.present.render import own_words
from howcome.present.unsaid import without_secrets
from howcome.settings import ACTIVE
from howcome.worker.thread import Worker

HOOKED_CLIENT = DEFAULT
"""The client (by the name that it says) whose hooks can call a tool; to any other's model that tool is of no use."""

FAILED = "howcome could not answer this. What went wrong is logged (`howcome doctor` shows it); go on without it."
MAX_ERROR_CHARS = 2000


class Session(Workplace):
    """What one server serves; see `Workplace` for its arguments.

    A silent one stands beside another of the same client: it has no tools and no worker.
    """

    def __init__(self, environment: Mapping[str, str], folder: str, *, is_silent: bool = False) -> None:
        super().__init__(environment, folder)
        self.is_silent = is_silent
        self._lists_hook = False
        self._worker: Worker | None = None

    def __enter__(self) -> Session:  # noqa: PYI034 - `typing` costs 10 ms
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._worker is not None:
            self._worker.stop()
        if self.opened is not None:
            self.opened.close()

    def meet(self, about: object) -> None:
        """Who the client says that it is."""
        self._lists_hook = isinstance(about, dict) and about.get("name") == HOOKED_CLIENT

    def start(self) -> None:
        """Starts the worker: once, never in the way of the first answer, and for no agent that howcome started."""
        if self._worker is None and not self.is_silent and not self.environment.get(ACTIVE):
            guarded("mcp worker", self._start_worker)

    def _start_worker(self) -> None:
        from howcome.worker.thread import Worker

        self.is_gone()
        self._worker = Worker(self.settings, embedder=self.embedder, current=lambda: self.settings)
        self._worker.start()

    def tools(self) -> list[dict[str, object]]:
        """Every tool as the protocol lists it."""
        if self.is_silent:
            return []
        return [tool.listing() for tool in TOOLS.values()] + ([HOOK] if self._lists_hook else [])

    def has_tool(self, name: str) -> bool:
        """Whether there is such a tool."""
        return not self.is_silent and (name in TOOLS or name == HOOK["name"])

    def call(self, name: str, arguments: object) -> dict[str, object]:
        """What a tool answers: always text, marked as an error when it is one."""
        with self._worker.giving_way() if self._worker else nullcontext():
            if name == HOOK["name"]:
                return _content(guarded("mcp hook", lambda: self._hook(arguments)) or "")
            return self._answer(name, arguments)

    def _answer(self, name: str, arguments: object) -> dict[str, object]:
        is_error = False

        def work() -> str:
            nonlocal is_error
            try:
                tool = TOOLS[name]
                return own_words(tool.run(self, Arguments(tool.name, tool.parameters, arguments)))
            except HowcomeError as error:
                is_error = True
                said = without_secrets(str(error))  # it may quote what was asked, and what is stored
                return own_words(said)[:MAX_ERROR_CHARS] + next_step(error)

        text = guarded(f"mcp {name}", work)
        return _content(FAILED if text is None else text, is_error=is_error or text is None)

    def _hook(self, arguments: object) -> str:
        from howcome.hooks.tool import hook_tool

        if not isinstance(arguments, dict) or self.is_gone():
            return ""
        return hook_tool(arguments, self.settings, self.embedder)


def _content(text: str, *, is_error: bool = False) -> dict[str, object]:
    content: dict[str, object] = {"content": [{"type": "text", "text": text}]}
    return content | {"isError": True} if is_error else content
