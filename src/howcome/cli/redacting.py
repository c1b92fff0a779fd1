"""The part of `howcome upgrade` that redacts again what older rules for secrets let through."""

from __future__ import annotations

from howcome.app import App
from howcome.present.render import counted
from howcome.present.terminal import echo

_EVERY = 10
"""How it goes is said at every tenth of the rows."""


def redact_store(app: App, *, quiet: bool) -> dict[str, object] | None:
    """Redacts what is stored again where that is due; what was done as JSON values, None when nothing was to do."""
    said = -1

    def on_progress(looked: int, total: int) -> None:
        nonlocal said
        share = min(_EVERY, _EVERY * looked // max(1, total))
        if share > said and not quiet:
            said = share
            echo(f"redacting again: {looked} of {counted(total, 'row')}")

    report = app.health.redact_again(on_progress)
    if report is None:
        return None
    names = ("looked", "changed", "rules", "files", "left")
    return {name: getattr(report, name) for name in names}


def print_redacted(report: dict[str, object]) -> None:
    """Says what was done."""
    looked, changed = int(str(report["looked"])), int(str(report["changed"]))
    rules, files, left = dict(report["rules"]), list(report["files"]), list(report["left"])  # type: ignore[call-overload]
    echo(f"Redacted again: {counted(looked, 'row')} looked at, {changed} changed, {len(files)} other files.")
    for name, number in sorted(rules.items()):
        echo(f"  {number:>6}  {name}")
    for path in left:
        echo(f"Some of it is still in {path}: look there, and change the secret.")
