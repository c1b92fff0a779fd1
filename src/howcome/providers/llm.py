"""Which language model and which graph server the settings mean. Cheap to import, and to ask when there is none.

A model comes with its meter: there is no other way to ask one (`providers.spending`).
"""

from __future__ import annotations

import os

from howcome.settings import ACTIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.providers.graph_neo4j import Neo4jGraph
    from howcome.providers.llm_adapter import ModelAdapter
    from howcome.providers.spending import Ledger, MeteredModel
    from howcome.settings import Settings

LIMIT_SETTING = "llm_deadline_s"
SEARCH_LIMIT_S = 6.0
"""What somebody who searches waits for a model at most, once a day and question."""

GRAPH_LIMIT_S = 2.0
"""What a search waits for one question to a graph server; it asks two."""


def open_model(
    settings: Settings, ledger: Ledger, purpose: str, *, limit_s: float = SEARCH_LIMIT_S, limit_setting: str = ""
) -> MeteredModel | None:
    """The language model of the settings; None when it is off. It is not asked for anything yet."""
    adapter = open_adapter(settings)
    if adapter is None:
        return None
    from howcome.domain.spending import Caps
    from howcome.providers.spending import MeteredModel

    caps = Caps(settings.llm_daily_calls, settings.llm_daily_tokens)
    return MeteredModel(adapter, ledger, purpose, caps, limit_s, limit_setting=limit_setting)


def open_adapter(settings: Settings) -> ModelAdapter | None:
    """How the model of the settings is asked; None when it is off, and within an agent that howcome itself started."""
    if settings.llm == "off" or os.environ.get(ACTIVE):
        return None
    if settings.llm == "claude":
        from howcome.providers.llm_program import ClaudeLanguageModel

        return ClaudeLanguageModel(settings.llm_command, settings.llm_model, settings.home, settings.llm_answer_tokens)
    if settings.llm == "command":
        from howcome.providers.llm_program import CommandLanguageModel

        return CommandLanguageModel(settings.llm_command, settings.llm_model, settings.home)
    from howcome.providers.http_post import secret_in
    from howcome.providers.llm_http import AnthropicLanguageModel, HttpLanguageModel

    key = secret_in(settings.llm_key_env, "llm_key_env")
    kind = AnthropicLanguageModel if settings.llm == "anthropic" else HttpLanguageModel
    return kind(settings.llm_url, settings.llm_model, key, settings.llm_answer_tokens)


def open_graph(settings: Settings, root_of: Callable[[int], str]) -> Neo4jGraph | None:
    """The graph server of the settings; None when there is none. It is not asked for anything yet."""
    if not settings.graph_url:
        return None
    from howcome.providers.graph_neo4j import Neo4jGraph
    from howcome.providers.http_post import secret_in

    password = secret_in(settings.graph_password_env, "graph_password_env")
    return Neo4jGraph(settings.graph_url, settings.graph_user, password, root_of, GRAPH_LIMIT_S)
