"""Which reranker the settings mean. Cheap to import; a cross-encoder is loaded when it is opened."""

from __future__ import annotations

import os

from howcome.errors import ProviderError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.spending import Call, Caps, Usage
    from howcome.providers.base import Reranker
    from howcome.providers.spending import Ledger
    from howcome.settings import Settings

LLM = "llm"
"""The language model of the settings reranks; every other word than it and `off` names a cross-encoder."""


def open_reranker(settings: Settings, ledger: Ledger | None = None) -> Reranker | None:
    """The reranker of the settings; None when it is off. Nothing is downloaded, no endpoint asked.

    Args:
        settings: Which one.
        ledger: Where a language model's calls are reserved; None: it will not be asked, only looked at.
    """
    if settings.rerank == "off":
        return None
    limit_s = settings.rerank_deadline_ms / 1000
    if settings.rerank == LLM:
        return _language_model(settings, ledger or _NoLedger(), limit_s)
    from howcome.providers.rerank_fastembed import CrossEncoder

    folder = os.path.expanduser(settings.rerank_folder) or cross_encoders_folder(settings.home)
    if not os.path.isabs(folder):
        raise ProviderError(f"rerank_folder has to begin with / or ~, unlike {folder!r}")
    return CrossEncoder(settings.rerank, folder, limit_s)


def cross_encoders_folder(home: str) -> str:
    """Where cross-encoders are unless the settings say otherwise; fastembed's embedders are there, too."""
    return os.path.join(home, "models", "fastembed")


def _language_model(settings: Settings, ledger: Ledger, limit_s: float) -> Reranker:
    from howcome.domain.spending import RERANK
    from howcome.providers.llm import open_model
    from howcome.providers.rerank_llm import ModelReranker

    model = open_model(settings, ledger, RERANK, limit_s=limit_s)
    if model is None:
        raise ProviderError('rerank = "llm" needs a language model: set llm = "http" and what belongs to it')
    return ModelReranker(model)


class _NoLedger:
    """Allows nothing."""

    def reserve(self, call: Call, caps: Caps, now_ms: int) -> tuple[int, str]:  # noqa: ARG002 - the port's
        return 0, "nobody writes its receipts"

    def settle(self, row: int, outcome: str, usage: Usage, charged: int, duration_ms: int) -> None:
        """There is nothing to settle."""
