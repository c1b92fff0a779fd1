"""Which formats of public rule files have no counterpart here: `python benchmarks/formats.py FILE...`.

FILE is a table of a scanner's rules: TOML as gitleaks and betterleaks have it (`[[rules]]` with `id` and `regex`), or
YAML with `name` and `values` (CredSweeper) or `rules` with `id` and `pattern` (Kingfisher; both need PyYAML). Of each
pattern some texts are made at random, and redacted; a format whose value stays in more than one of ten is listed.
"""

from __future__ import annotations

import argparse
import importlib
import random
import re
import re._constants as code
import re._parser as parser
import tomllib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howcome.redact.redactor import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = 8
TRIES = 60
ENOUGH = 0.9
# What gitleaks allows between a name and a value: only what programs and files have there is asked for.
_SEPARATORS = "(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)"
_ALNUM = [chr(c) for c in range(48, 123) if chr(c).isalnum()]


def rules_in(path: Path) -> Iterator[tuple[str, str]]:
    """The names and patterns of a file."""
    if path.suffix == ".toml":
        for rule in tomllib.loads(path.read_text())["rules"]:
            if rule.get("regex"):
                yield rule["id"], rule["regex"]
        return
    content = importlib.import_module("yaml").safe_load(path.read_text())
    for rule in content["rules"] if isinstance(content, dict) else content:
        for pattern in [rule["pattern"]] if "pattern" in rule else rule.get("values", []):
            yield rule.get("id") or rule["name"], pattern


def as_python(pattern: str) -> str:
    """A pattern of Go's or Rust's dialect as Python reads it: flags in its middle hold to its end."""
    pattern = pattern.replace(_SEPARATORS, "(?:=|:|=>|:=)").replace(r"\z", r"\Z")
    pattern = pattern.replace("[[:alnum:]]", "[A-Za-z0-9]").replace("[[:word:]]", r"\w")
    pattern, flags = re.subn(r"\(\?([is]+)\)", r"(?\1:", pattern)
    return pattern + ")" * flags


class Maker:
    """Makes texts that a pattern matches: what is optional is mostly left out, characters are drawn at random."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def make(self, parsed: Any) -> str:
        """A text for a parsed pattern."""
        return "".join(self._one(operator, argument) for operator, argument in parsed)

    def _one(self, operator: Any, argument: Any) -> str:
        if operator is code.LITERAL:
            return chr(argument)
        if operator is code.IN:
            return self._member(argument)
        if operator in (code.ANY, code.NOT_LITERAL):
            return "x"
        if operator in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            least, most, inner = argument
            times = self.draw.randint(least, min(most, least + 4)) if least else self.draw.randint(0, 1) * (most == 1)
            return "".join(self.make(inner) for _ in range(times))
        if operator is code.SUBPATTERN:
            return self.make(argument[3])
        if operator is code.ATOMIC_GROUP:
            return self.make(argument)
        return self.make(self.draw.choice(argument[1])) if operator is code.BRANCH else ""

    def _member(self, items: Any) -> str:
        negated = items[0][0] is code.NEGATE
        alphabet = re.compile(_class_of(items), re.ASCII)
        members = [c for c in map(chr, range(32, 127)) if alphabet.match(c)]
        usual = [c for c in members if c in _ALNUM]
        return self.draw.choice(usual if usual and (negated or self.draw.random() < 0.97) else members or [" "])


def _class_of(items: Any) -> str:
    parts = []
    for operator, argument in items:
        if operator is code.NEGATE:
            parts.append("^")
        elif operator is code.LITERAL:
            parts.append(re.escape(chr(argument)))
        elif operator is code.RANGE:
            parts.append(f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}")
        else:
            name = str(argument).removeprefix("CATEGORY_")
            kind = {"DIGIT": "d", "WORD": "w", "SPACE": "s"}[name.removeprefix("NOT_")]
            parts.append("\\" + (kind.upper() if name.startswith("NOT_") else kind))
    return f"[{''.join(parts)}]"


def share_of(pattern: str, redactor: Redactor, seed: int) -> tuple[float | None, str]:
    """The share of made texts whose value is gone (None: none could be made), and one in which it stays."""
    compiled, maker = re.compile(as_python(pattern), re.ASCII), Maker(seed)
    parsed = parser.parse(as_python(pattern), re.ASCII)
    made = gone = 0
    stays = ""
    for _ in range(TRIES):
        text = f"x = 1\n{maker.make(parsed)}\n"
        match = compiled.search(text)
        if match is None or made == TEXTS:
            continue
        value = next((group for group in match.groups() if group and group.strip()), match[0])
        is_gone = value not in redactor.redact(text)
        made, gone, stays = made + 1, gone + is_gone, stays if is_gone else text
    return (gone / made if made else None), stays


def main() -> None:
    """Print what has no counterpart."""
    warnings.simplefilter("ignore")  # other dialects' patterns
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("files", type=Path, nargs="+", metavar="FILE")
    options.add_argument("--seed", type=int, default=5)
    chosen = options.parse_args()
    redactor = Redactor(b"to measure with")
    for path in chosen.files:
        shares: dict[str, float] = {}
        for name, pattern in rules_in(path):
            try:
                share, stays = share_of(pattern, redactor, chosen.seed)
            except (re.error, KeyError, RecursionError) as error:
                print(f"{name}: cannot be read: {error}")
                continue
            if share is None:
                print(f"{name}: no text could be made")
                continue
            shares[name] = share
            if share < ENOUGH:
                print(f"{name}: {share:.2f}  {stays.strip()[:120]!r}")
        found = sum(share >= ENOUGH for share in shares.values())
        mean = sum(shares.values()) / max(1, len(shares))
        print(f"{path.name}: {found} of {len(shares)} formats have a counterpart; {mean:.3f} of values are redacted")


if __name__ == "__main__":
    main()
