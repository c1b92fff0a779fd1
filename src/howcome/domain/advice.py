"""What is never advised, though it worked: what removes, forces, skips a question, or acts elsewhere."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.commands import Part

_REMOVES = frozenset((
    "clean", "delete", "deploy", "destroy", "down", "drain", "drop", "dropdb", "flush", "flushall", "force", "fresh",
    "hard", "kill", "mkfs", "nuke", "prune", "publish", "purge", "push", "reconfigure", "redo", "refresh", "release",
    "remove", "renew", "reset", "rm", "rollback", "stop", "truncate", "undo", "uninstall", "unlock", "wipe", "zero",
))  # fmt: skip
_WORD = re.compile(r"[^\W_]+")
_RISKY = re.compile(
    r"--?(?:force\S*|yes|assume-yes|insecure|hard|overwrite|replace|reset|no-verify|break-system-packages"
    r"|\S*auto-approve|\S*accept-data-loss|\S*lock=false)(?:=.*)?"
    r"|-[rud]?f[rudx]{0,2}|-q*y|-[sSLfI]*k[sSLfI]*"
    r"|(?:\S*/)?(?:sudo|ssh|doas|su)"
    r"|(?is:\w*(?:URL|URI|DSN|HOST|ENV|DATABASE|DB|PROFILE|CONTEXT|CONFIG|FILE|FORCE|VERIFY|CHECK|STRICT|ARGS|PASS\w*|PWD"
    r"|TOKEN|SECRET|KEY\w*|AUTH|CRED\w*|COOKIE|PIN|PHRASE|LOGIN|USER|SSLMODE|APPROVE|UNAUTHORIZED|CLUSTER|NAMESPACE"
    r"|REGION|ACCOUNT|WORKSPACE|RESET|YES)=.*)"
)
"""Options that force or ask nothing, programs that act as somebody else or elsewhere, and assignments that aim at
something else or hold a secret."""


def removes(part: Part) -> set[str]:
    """The words of a command, of its arguments and of what is assigned for it, that remove something."""
    values = (one.partition("=")[2] for one in part.settings if not one.endswith(" &&"))
    return {word for given in (*part.words, *values) for word in _WORD.findall(given.lower())} & _REMOVES


def is_risky(fix: Part, *others: Part) -> bool:
    """Whether a command is not to be advised where others failed: by what it has and one of them had not.

    One that logs in names somebody, or a secret.
    """
    if "login" in fix.words[:-1]:
        return True
    risks = {word for word in _words(fix) if _RISKY.fullmatch(word)} | removes(fix)
    return any(risks - {*_words(other), *removes(other)} for other in others) if others else bool(risks)


def _words(part: Part) -> list[str]:
    return [word.strip("'") for given in part.settings for word in given.split()] + list(part.words)
