"""Whether everything that is stored has been through the rules for secrets as they are now."""

from __future__ import annotations

from howcome.doctor.base import Finding, Machine
from howcome.redact.version import RULES_VERSION


def check_redaction(machine: Machine) -> list[Finding]:
    """What older rules let through stays in clear until it is redacted again."""
    app = machine.app
    if app is None or not app.health.is_redaction_due():
        return []
    what = (
        f"what is stored was searched for secrets by older rules (version {app.health.rules_version()}, now"
        f" {RULES_VERSION}): what only the newer ones find is still there in clear"
    )
    return [Finding("warning", "secrets", what, "howcome upgrade")]
