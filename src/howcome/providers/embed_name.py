"""How the vectors of the settings' embedder are called, without loading it."""

from __future__ import annotations

from howcome.providers.minilm_places import MODEL_NAME
from howcome.settings import Settings


def model_name(settings: Settings) -> str:
    """The embedder's `name`; "" when there is none, or when only loading it tells (weights of one's own)."""
    chosen = settings.embedding
    if chosen in ("auto", "minilm"):
        return "" if settings.embedding_weights else settings.embedding_model or MODEL_NAME
    if chosen == "off" or (chosen == "http" and not settings.embedding_model):
        return ""
    from howcome.providers.base import safe_name
    from howcome.providers.embed_fastembed import DEFAULT_MODEL

    return safe_name(chosen, settings.embedding_model or DEFAULT_MODEL)
