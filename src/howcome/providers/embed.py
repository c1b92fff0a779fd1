"""Which embedder the settings mean, and what is missing for it. Cheap to import, and to ask when the answer is none."""

from __future__ import annotations

import os
from importlib.util import find_spec

from howcome.errors import ProviderError
from howcome.providers.minilm_places import MODEL_NAME, model_folder, package_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from howcome.providers.base import Embedder
    from howcome.providers.minilm_cache import Weights
    from howcome.settings import Settings

RUNNING, BUILDING = ("numpy", "onnxruntime", "tokenizers"), ("onnx", "safetensors")
"""What a built model needs, and what building one needs beside it: modules, and the distributions of the same names."""

_FASTEMBED = ("numpy", "fastembed")
CHECK_LIMIT_S = 5.0
"""How long `embedding_status` waits for an endpoint."""

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


class EmbeddingStatus:
    """Whether texts can be embedded, and what is missing.

    `state`: off · ready · packages (some are `missing`) · model (it is not here) · damaged (it is, but not whole) ·
    broken (an endpoint does not answer, a setting is wrong). `what` says it, `model` is the embedder's name when known.
    """

    def __init__(self, state: str, what: str, *, model: str = "", missing: tuple[str, ...] = ()) -> None:
        self.state, self.what, self.model, self.missing = state, what, model, missing


def open_embedder(
    settings: Settings, *, threads: int = 1, build: bool = True, limit_s: float = 60.0
) -> Embedder | None:
    """The embedder of the settings; None when it is off, or `auto` and something is missing (then nothing is raised).

    Args:
        settings: Which one.
        threads: Cores it may use: 1 for questions, more for many texts.
        build: Whether a model whose weights are here may be built (3 seconds, once); else it counts as missing.
        limit_s: How long an endpoint may take for a batch.
    """
    choice = settings.embedding
    if choice == "off":
        return None
    if choice == "http":
        return _http(settings, limit_s)
    if choice == "fastembed":
        return _fastembed(settings, threads)
    try:
        return _minilm(settings, threads, build=build)
    except ProviderError:
        if choice == "auto":  # `embedding_status` says why
            return None
        raise


def missing_packages(*, build: bool = False) -> tuple[str, ...]:
    """The distributions that MiniLM needs and that are not installed; none of them is imported."""
    return _missing((*RUNNING, *BUILDING) if build else RUNNING)


def _missing(wanted: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in wanted if find_spec(name) is None)


def _needs(missing: tuple[str, ...]) -> None:
    if missing:
        named = ", ".join(missing)
        raise ProviderError(f"search by meaning needs packages that are not installed: {named}; run `howcome doctor`")


def _minilm(settings: Settings, threads: int, *, build: bool) -> Embedder:
    _needs(missing_packages())
    is_kept = os.path.isdir(model_folder(settings.home, _name(settings)))
    if not (is_kept or settings.embedding_weights or (build and package_folder() is not None)):
        raise ProviderError(f"the model {_name(settings)} is not here; run `howcome model install`")
    from howcome.providers import minilm_cache

    weights, name = _weights_of(settings)
    model = minilm_cache.read_model(settings.home, name, in_full=False)
    if model is None:
        if weights is None or not build:
            raise ProviderError(f"the model {name} is not here; run `howcome model install`")
        _needs(missing_packages(build=True))
        if minilm_cache.name_of(weights, settings.home) != name:
            raise ProviderError(f"{weights.place} does not hold the weights of {name}; run `howcome model install`")
        model = minilm_cache.build(weights, settings.home)
    try:
        from howcome.providers.embed_minilm import MiniLmEmbedder

        return MiniLmEmbedder(model, threads)
    except ImportError as error:
        raise ProviderError(f"search by meaning cannot start: {error}; install {error.name} anew") from error


def _name(settings: Settings) -> str:
    return settings.embedding_model or MODEL_NAME


def _weights_of(settings: Settings) -> tuple[Weights | None, str]:
    """The weights that the settings name, else the installed package's, which make one model only; the model's name."""
    from howcome.providers.minilm_cache import Weights, name_of

    if settings.embedding_weights:
        folder = os.path.expanduser(settings.embedding_weights)
        if not os.path.isabs(folder):
            raise ProviderError(f"embedding_weights has to begin with / or ~, unlike {folder!r}")
        weights = Weights(folder)
        return weights, name_of(weights, settings.home)
    found = package_folder() if _name(settings) == MODEL_NAME else None
    return Weights(found) if found else None, _name(settings)


def _fastembed(settings: Settings, threads: int) -> Embedder:
    _needs(_missing(_FASTEMBED))
    from howcome.providers.embed_fastembed import FastembedEmbedder

    folder = os.path.join(settings.home, "models", "fastembed")
    return FastembedEmbedder(model_name(settings), settings.embedding_model, folder, threads)


def _http(settings: Settings, limit_s: float) -> Embedder:
    _needs(_missing(("numpy",)))
    from howcome.providers.embed_http import HttpEmbedder
    from howcome.providers.http_post import secret_in

    key = secret_in(settings.embedding_key_env, "embedding_key_env")
    embedder = HttpEmbedder(settings.embedding_url, settings.embedding_model, key, limit_s)
    embedder.name = model_name(settings)
    return embedder


def embedding_status(settings: Settings) -> EmbeddingStatus:
    """Whether texts can be embedded as the settings say. Builds and downloads nothing; an endpoint is really asked."""
    if settings.embedding == "off":
        return EmbeddingStatus("off", "embedding is off: search is by words only")
    if settings.embedding in ("auto", "minilm"):
        return _minilm_status(settings)
    if settings.embedding == "fastembed":  # opening it would download
        if missing := _missing(_FASTEMBED):
            return EmbeddingStatus("packages", f"fastembed needs packages: {', '.join(missing)}", missing=missing)
        return EmbeddingStatus("ready", "fastembed is installed; it downloads its model when first used")
    try:
        opened = _http(settings, CHECK_LIMIT_S)
        what = f"{settings.embedding_url} answers: {opened.dimensions} dimensions"
    except ProviderError as error:
        return EmbeddingStatus("broken", str(error))
    return EmbeddingStatus("ready", what, model=opened.name)


def _minilm_status(settings: Settings) -> EmbeddingStatus:
    missing = missing_packages()
    if missing:
        return EmbeddingStatus("packages", f"packages are not installed: {', '.join(missing)}", missing=missing)
    from howcome.providers import minilm_cache

    try:
        weights, name = _weights_of(settings)
    except ProviderError as error:
        return EmbeddingStatus("broken", str(error))
    if minilm_cache.read_model(settings.home, name) is not None:
        return EmbeddingStatus("ready", f"{name} is here", model=name)
    if weights is not None:
        missing = missing_packages(build=True)
        if missing:
            what = f"{name} cannot be built without packages: {', '.join(missing)}"
            return EmbeddingStatus("packages", what, model=name, missing=missing)
        return EmbeddingStatus("ready", f"{name} will be built from {weights.place} at its first use", model=name)
    if os.path.lexists(model_folder(settings.home, name)):
        return EmbeddingStatus("damaged", f"{name} is damaged", model=name)
    return EmbeddingStatus("model", f"{name} is not here", model=name)


def model_name(settings: Settings) -> str:
    """The embedder's `name`; "" when there is none, or when only loading it tells (weights of one's own)."""
    chosen = settings.embedding
    if chosen in ("auto", "minilm"):
        return "" if settings.embedding_weights else settings.embedding_model or MODEL_NAME
    if chosen == "off" or (chosen == "http" and not settings.embedding_model):
        return ""
    from howcome.providers.base import DEFAULT_MODEL, safe_name

    # vectors of passages with another prefix are other vectors
    return safe_name(chosen, f"{settings.embedding_model or DEFAULT_MODEL} {prefixes(settings)[1]}".strip())


def prefixes(settings: Settings) -> tuple[str, str]:
    """What the embedder of the settings is given before a question, and before a passage."""
    if settings.embedding not in ("http", "fastembed"):
        return "", ""
    from howcome.providers.base import DEFAULT_MODEL

    model = settings.embedding_model or ("" if settings.embedding == "http" else DEFAULT_MODEL)
    known = next(((question, passage) for part, question, passage in KNOWN if part in model.lower()), ("", ""))
    chosen = (settings.embedding_question_prefix, settings.embedding_passage_prefix)
    return _spaced(chosen[0], known[0]), _spaced(chosen[1], known[1])


def _spaced(chosen: str, known: str) -> str:
    """A prefix with the blank behind it that no setting can end with."""
    prefix = {AUTO: known, NONE: ""}.get(chosen, chosen)
    return f"{prefix} " if prefix else ""
