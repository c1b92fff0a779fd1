"""The tools of the MCP server, as a table: name, when to use it, arguments, what runs."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from howcome.domain import memories
from howcome.mcp.arguments import Parameter
from howcome.mcp.reading import (
    KINDS,
    expand_memory,
    get_context,
    get_memories,
    get_timeline,
    memory_status,
    replay_session,
    search_memory,
)
from howcome.mcp.writing import forget, list_stale, remember, update_memory
from howcome.retrieve.question import TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from howcome.mcp.arguments import Arguments
    from howcome.mcp.workplace import Workplace


@dataclass(slots=True, eq=False)
class Tool:
    """One tool; `run(workplace, arguments)` gives its text."""

    name: str
    title: str
    description: str
    run: Callable[[Workplace, Arguments], str]
    parameters: tuple[Parameter, ...]
    _: KW_ONLY
    is_read_only: bool = True
    is_loaded: bool = False

    def listing(self) -> dict[str, object]:
        """As the protocol lists it."""
        required = [parameter.name for parameter in self.parameters if parameter.is_required]
        listed: dict[str, object] = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": {one.name: one.schema() for one in self.parameters if one.is_listed},
                **({"required": required} if required else {}),
            },
            "annotations": {
                "title": self.title, "readOnlyHint": self.is_read_only, "destructiveHint": False,
                "idempotentHint": True, "openWorldHint": False,
            },
        }  # fmt: skip
        if self.is_loaded:  # the client defers tools: it lists their names and loads them when the model asks
            listed["_meta"] = {"anthropic/alwaysLoad": True}
        return listed


_ID = Parameter("id", "string", "ev-… or mem-….", is_required=True)
_WHOLE_ID = Parameter("id", "string", "Whole, mem-….", is_required=True)
_OWNER = Parameter("agent_id", "string", "Your own id, if you use one: it owns the memory.", is_listed=False)
_ALSO = Parameter(
    "also", "strings", "Folders of other repositories that it holds in, too.", high=memories.MAX_ALSO, is_listed=False
)
_AS_IS = Parameter(
    "as_is", "boolean", "Keep the words as they are; else first person and feelings may go.", is_listed=False
)
_OF_AGENT = Parameter(
    "agent_id", "string", "Only this agent's: a client, a subagent, or an owner of memories.", is_listed=False
)
_FULL = Parameter("full", "boolean", "Whole texts instead of one line an event (many tokens).", is_listed=False)
_OFFSET = Parameter("offset", "integer", "Go on after so many events (an earlier answer says when).", is_listed=False)
_PROJECT = Parameter("project", "string", "Another's folder or name, or 'all'.")

_ALL = (
    Tool(
        "search_memory", "Search memory",
        "Search what earlier sessions of this project said and did, and memories: a line a hit, below the"
        " first ones what was settled next to it. Use it before deciding, when something fails, when the past is"
        " mentioned.",
        search_memory,
        (
            Parameter("query", "query", "A question; or a list of words that ALL must occur.",
                      is_required=True, high=8),
            Parameter("limit", "integer", "Default 10.", low=1, high=100),
            Parameter("type", "strings", "Such as user_prompt, tool_result, decision, failure.",
                      choices=TYPES, high=10),
            Parameter("session", "string", "Its id."),
            Parameter("since", "string", "2026-10-01, or 7d ago."),
            Parameter("before", "string", "The same."),
            _PROJECT,
            Parameter("agent", "string", "Only this client's sessions, or this owner's memories.", is_listed=False),
            Parameter("subsystem", "string", "About this package or folder."),
            _OF_AGENT,
        ), is_loaded=True,
    ),
    Tool(
        "get_memories", "Read memories in full",
        "Full texts of the few ids (ev-…, mem-…) that matter.",
        get_memories,
        (
            Parameter("ids", "strings", "Any unique beginnings.", is_required=True, high=20),
            Parameter("offset", "integer", "With one id: go on after so many characters of its text.", is_listed=False),
            _OF_AGENT,
        ), is_loaded=True,
    ),
    Tool(
        "get_context", "What came before and after",
        "What led to an event and what came of it.",
        get_context,
        (
            _ID,
            Parameter("before", "integer", "Default 6.", high=200),
            Parameter("after", "integer", "Default 6.", high=200),
            _FULL,
            _OF_AGENT,
        ),
    ),
    Tool(
        "replay_session", "Unwind a session",
        "A session up to an event, in order: the reasons for a decision.",
        replay_session,
        (
            Parameter("id", "string", "The event, or a session for all of it.", is_required=True),
            _FULL,
            _OFFSET,
            Parameter("limit", "integer", "At most so many events (default 200).", low=1, high=1000, is_listed=False),
            _OF_AGENT,
        ),
    ),
    Tool(
        "get_timeline", "Sessions and what happened in them",
        "The latest sessions of this project; or what happened in one.",
        get_timeline,
        (
            Parameter("session", "string", "Its id."),
            Parameter("file", "string", "FILE:LINE: why it is there; FILE: history."),
            Parameter("type", "strings", "Only these kinds of events.", choices=KINDS, high=6, is_listed=False),
            Parameter("limit", "integer", "At most so many lines (default 100; 20 sessions).", low=1, high=1000,
                      is_listed=False),
            _OFFSET, _PROJECT, _OF_AGENT,
        ),
    ),
    Tool(
        "expand_memory", "Open an id with its exchange",
        "An injected id with its exchange; a memory with its evidence and chain.",
        expand_memory, (_ID, _OF_AGENT),
    ),
    Tool(
        "remember", "Keep a memory",
        "Keep one thing that later sessions should know; not what the code or git history says.",
        remember,
        (
            Parameter("text", "string", "It and why, 20 characters or more.", is_required=True),
            Parameter("type", "string", "What kind it is.", choices=memories.TYPES),
            Parameter("scope", "string", "project (default) or global: everywhere.", choices=("project", "global")),
            Parameter("evidence", "strings", "ev-… that bear it out.", high=memories.MAX_EVIDENCE),
            _ALSO, _AS_IS, _OWNER,
        ), is_read_only=False,
    ),
    Tool(
        "update_memory", "Correct a memory",
        "Supersede what is no longer true; or resolve what is done with.",
        update_memory,
        (
            _WHOLE_ID,
            Parameter("text", "string", "What is true now."),
            Parameter("type", "string", "What kind of memory it is.", choices=memories.TYPES, is_listed=False),
            Parameter("status", "string", "open or resolved.", choices=memories.STATUSES),
            _ALSO, _AS_IS, _OWNER,
        ), is_read_only=False,
    ),
    Tool(
        "forget", "Forget a memory",
        "Take back what is wrong; for what was true once use update_memory.",
        forget,
        (
            _WHOLE_ID,
            Parameter("never_again", "boolean", "Nor learn it again."),
            _OWNER,
        ), is_read_only=False,
    ),
    Tool(
        "list_stale", "Memories to look at again",
        "Faded memories, to forget or update_memory.",
        list_stale,
        (
            Parameter("contradictions", "boolean", "Pairs that may contradict instead."),
            Parameter("limit", "integer", "At most so many (default 20).", low=1, high=100, is_listed=False),
            Parameter("project", "string", "Another project's folder or name, or 'all'.", is_listed=False), _OF_AGENT,
        ),
    ),
    Tool(
        "memory_status", "What memory holds",
        "How much is stored; whether something is wrong.",
        memory_status, (_OF_AGENT,),
    ),
)  # fmt: skip
"""All of it is sent with every session of a client that does not defer tools: 1,200 tokens at most, with the
instructions. What an answer names when it is needed (`offset`, `as_is`) is taken, but not listed."""

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}
"""Name → tool, in the order in which they are listed."""

HOOK: dict[str, object] = {
    "name": "hook",
    "title": "For the client's hooks",
    "description": "For the client's hooks, not for you.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"title": "For the client's hooks", "readOnlyHint": False, "openWorldHint": False},
}  # fmt: skip
"""The one tool beside the others: the other door of the command `howcome hook`."""
