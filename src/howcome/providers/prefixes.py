"""What stands before a question and before a passage for models that were trained so. Cheap to import."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.settings import Settings

AUTO, NONE = "auto", "none"

_SENTENCE = "Represent this sentence for searching relevant passages:"
KNOWN = (
    ("instruct", "", ""),  # wants a task of its own: the settings can name it
    ("e5-", "query:", "passage:"),
    ("nomic-embed-text", "search_query:", "search_document:"),
    ("embeddinggemma", "task: search result | query:", "title: none | text:"),
    ("bge-small-en", _SENTENCE, ""),
    ("bge-base-en", _SENTENCE, ""),
    ("bge-large-en", _SENTENCE, ""),
    ("mxbai-embed-large", _SENTENCE, ""),
    ("arctic-embed-l-v2", "query:", ""),
    ("arctic-embed-m-v2", "query:", ""),
    ("arctic-embed2", "query:", ""),
    ("arctic-embed", _SENTENCE, ""),
)
"""By a part of a model's name, what its authors say to write before questions and before passages; the first counts.
MiniLM wants neither. None of these models was measured here."""


def prefixes(settings: Settings) -> tuple[str, str]:
    """What the embedder of the settings is given before a question, and before a passage."""
    if settings.embedding not in ("http", "fastembed"):
        return "", ""
    model = _model(settings)
    known = next(((question, passage) for part, question, passage in KNOWN if part in model), ("", ""))
    chosen = (settings.embedding_question_prefix, settings.embedding_passage_prefix)
    return _spaced(chosen[0], known[0]), _spaced(chosen[1], known[1])


def _model(settings: Settings) -> str:
    if settings.embedding_model or settings.embedding == "http":
        return settings.embedding_model.lower()
    from howcome.providers.embed_fastembed import DEFAULT_MODEL

    return DEFAULT_MODEL.lower()


def _spaced(chosen: str, known: str) -> str:
    """A prefix with the blank behind it that no setting can end with."""
    prefix = {AUTO: known, NONE: ""}.get(chosen, chosen)
    return f"{prefix} " if prefix else ""
