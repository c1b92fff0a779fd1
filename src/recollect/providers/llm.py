"""Which language model and which graph server the settings mean. Cheap to import, and to ask when there is none."""

from __future__ import annotations

import os

from recollect.errors import ProviderError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.providers.graph_neo4j import Neo4jGraph
    from recollect.providers.llm_http import HttpLanguageModel
    from recollect.settings import Settings

SEARCH_LIMIT_S = 6.0
"""What somebody who searches waits for a model at most, once a day and question."""

GRAPH_LIMIT_S = 2.0
"""What a search waits for one question to a graph server; it asks two."""


def open_model(settings: Settings, *, limit_s: float = SEARCH_LIMIT_S) -> HttpLanguageModel | None:
    """The language model of the settings; None when it is off. It is not asked for anything yet.

    Raises:
        ProviderError: a setting is missing or wrong; the message names it.
    """
    if settings.llm == "off":
        return None
    from recollect.providers.llm_http import HttpLanguageModel

    key = _secret(settings.llm_key_env, "llm_key_env")
    return HttpLanguageModel(settings.llm_url, settings.llm_model, key, limit_s)


def open_graph(
    settings: Settings, root_of: Callable[[int], str], *, limit_s: float = GRAPH_LIMIT_S
) -> Neo4jGraph | None:
    """The graph server of the settings; None when there is none. It is not asked for anything yet.

    Args:
        settings: Which one.
        root_of: The root of a project, by its row id; '' when there is no such project.
        limit_s: How long it may take for one question.

    Raises:
        ProviderError: a setting is missing or wrong; the message names it.
    """
    if not settings.graph_url:
        return None
    from recollect.providers.graph_neo4j import Neo4jGraph

    password = _secret(settings.graph_password_env, "graph_password_env")
    return Neo4jGraph(settings.graph_url, settings.graph_user, password, root_of, limit_s)


def _secret(variable: str, setting: str) -> str:
    """What a variable holds; '' when none is named.

    Raises:
        ProviderError: it is named and holds nothing.
    """
    found = os.environ.get(variable, "").strip() if variable else ""
    if variable and not found:
        raise ProviderError(f"the variable {variable}, which {setting} names, is not set here: export it")
    return found
