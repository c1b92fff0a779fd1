"""An invented vocabulary and the texts made of it: prose, code, listings and logs, the same for the same seed."""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import accumulate

ENGLISH = (
    "the to of and in is it that for on with as was be this we not at by from or an but so if when then which"
    " because after before every only same two first last still now here also than into over without again between"
    " there"
).split()
SUBJECTS = (
    "queue worker retry gauge buffer cursor index ledger parser router schema socket stream ticket token tracer"
    " vault widget window batch broker cache canvas channel cluster codec column commit counter cron daemon"
    " dashboard deadline digest dispatch driver encoder endpoint envelope fixture gateway handler harbour hash"
    " header heartbeat importer invoice journal kernel lease limiter linker listener locale locker logger mapper"
    " meter migration mirror mutex namespace notifier offset packet partition payload pipeline planner plugin pool"
    " presenter probe profile prompt proxy quota record reducer registry replica resolver response rollup sampler"
    " scanner scheduler scope segment sender session shard signal snapshot spooler storage subscriber summary"
    " supervisor switch tariff template tenant throttle tide timer transcript transport trigger tunnel upstream"
    " validator vector version viewer watcher webhook zone"
).split()
VERBS = (
    "fails returns writes reads drops retries blocks closes opens rejects accepts counts merges splits loads"
    " stores skips renames migrates parses renders throws locks flushes expires"
).split()
_ONSETS = "b br c cl d dr f fl g gr h k l m n p pl pr qu r s sk sl st t tr v w z".split()
_VOWELS = "a e i o u ai ea ee ou".split()
_CODAS = ("", "", "n", "r", "s", "t", "l", "m", "nd", "st", "rk", "x")
FOLDERS = (
    "src",
    "src/core",
    "src/api",
    "src/store",
    "lib",
    "internal/sync",
    "tests",
    "tests/unit",
    "web/components",
    "docs",
)
SUFFIXES = (".py", ".ts", ".go", ".rs", ".tsx", ".md", ".sql", ".yaml")


class Vocabulary:
    """Words of one project (common ones often, rare ones rarely) and of one session's subject in it.

    Args:
        seed: The same seed gives the same words in the same order.
        size: How many invented words there are beside the real ones.
    """

    def __init__(self, seed: str, size: int = 12_000) -> None:
        invented, self._words, self._weights = _shared(size)
        self.random = random.Random(seed)
        subject = self.random.sample(SUBJECTS, 14) + self.random.sample(invented, 40)
        self.names = [self._name(subject) for _ in range(90)]
        self.files = [self._file(subject) for _ in range(24)]
        self._subject = subject

    def _name(self, subject: list[str]) -> str:
        parts = self.random.sample(subject, self.random.choice((2, 2, 3)))
        form = self.random.randrange(4)
        if form == 0:
            return "".join(part.capitalize() for part in parts)
        if form == 1:
            return parts[0] + "".join(part.capitalize() for part in parts[1:])
        return "_".join(parts) if form == 2 else "_".join(parts).upper()

    def _file(self, subject: list[str]) -> str:
        stem = self.random.choice("_-").join(self.random.sample(subject, 2))
        return f"{self.random.choice(FOLDERS)}/{stem}{self.random.choice(SUFFIXES)}"

    def name(self) -> str:
        """An identifier of the session's subject."""
        return self.random.choice(self.names)

    def file(self) -> str:
        """A path of the session's subject."""
        return self.random.choice(self.files)

    def words(self, count: int) -> list[str]:
        """Words as people mix them: common ones, the subject's, an identifier now and then."""
        found = self.random.choices(self._words, cum_weights=self._weights, k=count)
        for index in range(0, count, 4):
            found[index] = self.random.choice(self._subject)
        for index in range(7, count, 11):
            found[index] = f"`{self.name()}`" if self.random.random() < 0.6 else self.name()
        return found

    def sentence(self) -> str:
        """One sentence."""
        text = " ".join(self.words(self.random.randint(7, 19)))
        return text[0].upper() + text[1:] + self.random.choice((".", ".", ".", "?", ":", " — see " + self.file() + "."))

    def prose(self, chars: int) -> str:
        """Paragraphs of about so many characters."""
        parts: list[str] = []
        size = 0
        while size < chars:
            part = self.sentence()
            part += "\n\n" if self.random.random() < 0.15 else "\n- " if self.random.random() < 0.1 else " "
            parts.append(part)
            size += len(part)
        return "".join(parts).strip()

    def code_line(self) -> str:
        """One line of some language."""
        pick, name = self.random.randrange(9), self.name
        indent = "    " * self.random.randrange(4)
        if pick == 0:
            return f"{indent}def {name()}(self, {name()}: int, {self.random.choice(SUBJECTS)}: str) -> {name()}:"
        if pick == 1:
            return f'{indent}{name()} = {name()}({name()}, "{" ".join(self.words(3))}", {self.random.randrange(5000)})'
        if pick == 2:
            return (
                f"{indent}if {name()} is None or {name()}.{self.random.choice(SUBJECTS)} > {self.random.randrange(90)}:"
            )
        if pick == 3:
            return f"{indent}# {' '.join(self.words(9))}"
        if pick == 4:
            return f"{indent}return {name()}[{self.random.randrange(9)}] if {name()} else {{}}"
        if pick == 5:
            return f'import {{ {name()}, {name()} }} from "../{self.file()}";'
        if pick == 6:
            return f"{indent}self.{name()}.{self.random.choice(VERBS)}({name()}, key={name()})"
        return "" if pick == 7 else indent + "}" + self.random.choice(("", ";", ",", ")"))

    def code(self, chars: int) -> list[str]:
        """Lines of code, together about so many characters."""
        lines: list[str] = []
        size = 0
        while size < chars:
            line = self.code_line()
            lines.append(line)
            size += len(line) + 1
        return lines

    def log(self, chars: int) -> str:
        """What a command prints: test results, listings, revisions, an assignment that looks like a secret at times."""
        lines: list[str] = []
        size, below = 0, self.random.randrange
        while size < chars:
            dice = self.random.random()
            if dice < 0.4:
                verdict = "FAILED" if below(10) == 0 else "PASSED"
                line = f"{self.file()}::test_{self.name().lower()} {verdict} [{below(101):3d}%]"
            elif dice < 0.6:
                line = f"{self.random.getrandbits(160):040x} {' '.join(self.words(6))}"
            elif dice < 0.8:
                line = (
                    f"-rw-r--r-- 1 dev dev {below(90_000):6d} Mar {below(28) + 1:2d} 14:{below(60):02d} {self.file()}"
                )
            elif dice < 0.995:
                level = "WARN" if below(5) == 0 else "INFO"
                line = f"2026-03-{below(28) + 1:02d}T09:12:44Z {level} {' '.join(self.words(8))}"
            else:
                line = f"{self.name().upper()}_PASSWORD={self.random.getrandbits(96):024x}"
            lines.append(line)
            size += len(line) + 1
        return "\n".join(lines)


@lru_cache
def _shared(size: int) -> tuple[list[str], list[str], list[float]]:
    """The invented words, all words, and how much all up to each weigh (by Zipf: 1 / rank)."""
    shared = random.Random("vocabulary")
    invented = list(dict.fromkeys(_invent(shared) for _ in range(size)))
    words = [*ENGLISH, *SUBJECTS, *VERBS, *invented]
    return invented, words, list(accumulate(1 / (rank + 3) for rank in range(len(words))))


def _invent(source: random.Random) -> str:
    syllables = (
        source.choice(_ONSETS) + source.choice(_VOWELS) + source.choice(_CODAS) for _ in range(source.choice((2, 2, 3)))
    )
    return "".join(syllables)
