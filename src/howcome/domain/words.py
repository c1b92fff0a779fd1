"""Words by which texts are told apart, from data files by language (`words/*.txt`): all languages hold at once.

Each file has lists of the same names (`LISTS`), but for those that its language does not need; a language is added by
adding a file. docs/changing.md tells the format.
"""

from __future__ import annotations

import os
import re
from functools import cache

from howcome.domain.text import STOP_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LISTS = (
    "narrates", "guesses", "causes", "blames", "retracts", "reasons", "confirms", "open", "fails", "denies", "joins",
    "chores", "dangles", "passes", "before", "recalls", "hints", "asking", "rules", "orders", "swaps", "leaves",
    "turns", "starts", "onto", "small", "undoes", "rejects", "concedes", "asks", "requests", "stops", "directs",
    "fades", "norms", "needs", "points", "states",
)  # fmt: skip
"""What each list is for.

narrates: a sentence that begins so tells what is done next; dangles: it hangs on the one before; passes: it is of the
day; before: it says how things are before a change. guesses: who says so is not sure; causes: it names why something
is so, blames: surely; reasons: it gives a reason;
confirms: it says yes; retracts: it takes back what was said; open: begun so, it names what is left to do, fails:
anywhere, unless something denies it. joins: what of blames only joins two statements. chores: a prompt of nothing
else asks for a step of the day. recalls: a prompt with one asks about the past, hints: if it is a question; asking:
words of such a question that say nothing of its subject; asks: a sentence that begins so is a question; requests: it
asks somebody to do something; rejects: it turns down what was said before, but for those that begin with one of
concedes ("no problem"). rules: the user wants something kept to, orders: if the words begin so. What follows one of
swaps or leaves is what somebody turns away from, and what stands between one of starts and one of onto after one of
turns; small: words of such a sentence that name nothing. undoes: what was done last is to be taken back. stops: words
that say nothing of a subject, left out of what is searched for in a text of that language (English has
`domain/text.STOP_WORDS`; its own are those of other languages that mean something else in English or code, and tell no
language). directs: who says so wants something, or says what not to do; in most languages they are among the reasons.
fades: a sentence with one is of the day, or supposes something. Of what the user wants kept to: one of norms
at the end of a clause says that it holds for good, at its beginning only with one of needs, and not where one of points
shows that the matter at hand is meant. A text with one of states reports, tells what happened or takes back: no rule.
"""

MAX_PHRASE_WORDS = 6
_OPENING = "¿¡\u300c\u300e\uff08“„"
# Also Chinese and Japanese marks.
_AROUND = ".,;:!?…()[]\"'“”„«»\u3001\u3002\uff0c\uff01\uff1f\uff1a\u300c\u300d" + _OPENING
"""What may stand around a word."""

SURE_WORDS = 2
"""So many words that only one language has show it; of those that others have, too, it takes one more."""

_APOSTROPHES = str.maketrans(dict.fromkeys("'\u2019", " "))
"""Romance languages join an article to what follows."""

MAX_WORD_CHARS = 80
"""No word of a list is longer: of a text so much of its beginning is looked at."""


LANGUAGES = {
    "": ("en", "de"), "romance": ("en", "de", "es", "fr", "pt"), "cyrillic": ("en", "de", "ru"),
    "hangul": ("en", "de", "ko"), "han": ("en", "de", "ja", "zh"),
}  # fmt: skip
"""The files that are looked into, by what a text looks like: most are English, and a hook reads no more for those."""

LOOKED_AT_CHARS = 400
"""So much of a text shows its language."""

_OTHER = re.compile("[\u0400-\u04ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SCRIPTS = (("\u3000", "cyrillic"), ("\uac00", "han"), ("\uffff", "hangul"))
"""Groups by the end of what their letters are in, in the order of the letters."""
_ACCENTS = frozenset("áéíóúñãõçêèàùâîôû¿¡")
_ROMANCE = frozenset(
    "aqui até aux avait avec avons cada cette chez com como cuando dans del deles des desde donc donde du el "
    "ela ele elle elles esa essa esse esta este esto está et foi gente hay il ils isso la las le les leur los "
    "mais mas minha moi muito muy nada nao notre nous nunca onde ont para parce pas pero por porque pour "
    "pourquoi pra quand quando que quel quelle quem qui quoi sempre siempre sont sous tambem tava tem tous "
    "tudo tá uma una une vai vc votre vous y".split()
)


@cache
def _lists(code: str) -> dict[str, str]:
    """The lists of a language. Lines are `name: word | a phrase | …`, indented ones go on."""
    folder = os.path.join(os.path.dirname(__file__), "words")  # `importlib.resources` costs a prompt 15 ms
    with open(os.path.join(folder, f"{code}.txt"), encoding="utf-8") as lines:
        parts = (line.partition(": ") for line in lines.read().replace("\n ", " ").splitlines())
        return {name: told for name, _, told in parts if told and name[0] != "#"}


@cache
def _list(name: str, language: str) -> list[str]:
    """The words of a list of some languages together, each once."""
    told = "|".join(_lists(code).get(name, "") for code in LANGUAGES[language])
    return list(dict.fromkeys(found for word in told.split("|") if (found := word.strip())))


@cache
def _stops(code: str) -> tuple[frozenset[str], frozenset[str]]:
    """The stop words of a language, and those that are no words of English or code."""
    found, shared = (
        frozenset(word.strip() for word in _lists(one).get("stops", "").split("|")) for one in (code, "en")
    )
    return (found, found - STOP_WORDS - shared) if code != "en" else (frozenset(), frozenset())


def stops_of(text: str) -> frozenset[str]:
    """The words of a text's language that say nothing of a subject; none where that is English.

    It is in a language if one word at least is of that language alone, and two are or three are stop words, more than
    English ones: a text of names and code has none.
    """
    said = [part for word in text.lower().translate(_APOSTROPHES).split() if (part := word.strip(_AROUND))]
    sure, every, stops = max(
        (_counted(said, code) for code in LANGUAGES[language_of(text)] if code != "en"),
        key=lambda found: found[:2],
    )
    english = sum(word in STOP_WORDS and word not in stops for word in said)
    is_english = not sure or max(sure, every) <= english or (sure < SURE_WORDS and every <= SURE_WORDS)
    return frozenset() if is_english else stops


def telling(text: str, asked: str = "") -> str:
    """A text without the words that say nothing of a subject in its language (`stops_of`); English as it is.

    Words in capitals stay. Of a part of what was asked the whole of it tells the language. "" where nothing is left.
    """
    stops = stops_of(asked or text)
    if not stops:
        return text
    found = ((word, word.strip(_AROUND)) for word in text.translate(_APOSTROPHES).split())
    kept = " ".join(word for word, bare in found if bare.lower() not in stops or (len(bare) > 1 and bare.isupper()))
    return kept if any(map(str.isalnum, kept)) else ""


def _counted(said: Sequence[str], code: str) -> tuple[int, int, frozenset[str]]:
    """How many of some words are stop words of a language alone, and how many are any of its stop words, with those."""
    stops, own = _stops(code)
    return sum(word in own and len(word) > 1 for word in said), sum(word in stops for word in said), stops


def language_of(text: str) -> str:
    """Which of LANGUAGES a text is in, by its letters and its commonest words."""
    text = text[:LOOKED_AT_CHARS].lower()
    if not text.isascii() and (found := _OTHER.search(text)):
        return next(group for end, group in _SCRIPTS if found[0] < end)
    is_romance = not _ROMANCE.isdisjoint(text.split()) or not (text.isascii() or _ACCENTS.isdisjoint(text))
    return "romance" if is_romance else ""


@cache
def _pattern(*names: str, language: str) -> re.Pattern[str]:
    every = (word for name in names for word in _list(name, language))
    found = sorted(every, key=lambda word: (-len(word), word))
    spaced, joined = (
        "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in found if is_joined(word) == joins)
        for joins in (False, True)
    )
    # texts are lowered before: several times as fast as IGNORECASE
    return re.compile(rf"\b(?:{spaced})(?!\w)" + (f"|(?:{joined})" if joined else ""))


def is_joined(word: str) -> bool:
    """Whether a word is of a script that puts no blanks between words, or joins endings to them (Korean)."""
    return word > "\u2e80"


def count(text: str) -> int:
    """How many words a text has; two signs of a script without blanks are one."""
    joined = 0 if text.isascii() else sum("\u2e80" < sign < "\uac00" for sign in text)
    return len(text.split()) + joined // 2


def begins(text: str, *names: str) -> bool:
    """Whether a text begins with a word of some lists."""
    text = text[:MAX_WORD_CHARS].lower().lstrip(_OPENING)
    return _pattern(*names, language=language_of(text)).match(text) is not None


def has(text: str, name: str) -> bool:
    """Whether a text has a word of a list anywhere."""
    return _pattern(name, language=language_of(text)).search(text.lower().replace("\u2019", "'")) is not None


def ends(text: str, name: str) -> list[int]:
    """Where the words of a list end in a text that is in lower case."""
    return [found.end() for found in _pattern(name, language=language_of(text)).finditer(text)]


@cache
def single(*names: str) -> frozenset[str]:
    """The words of some lists, phrases taken apart."""
    every = {word for name in names for language in LANGUAGES for word in _list(name, language)}
    return frozenset(word for phrase in every for word in phrase.split())


def without(text: str, name: str) -> str:
    """A text in lower case, without the words of a list."""
    return _pattern(name, language=language_of(text)).sub(" ", text.lower())


def opens(text: str, name: str) -> bool:
    """As `begins`, without a pattern: for a prompt's hook."""
    said = text.split(maxsplit=MAX_PHRASE_WORDS)[:MAX_PHRASE_WORDS]
    if is_joined(text := text.lstrip(_AROUND + " \n")):
        return text.lower().startswith(_joined(name, language=language_of(text)))
    firsts, known = _bare(name, language=language_of(text))
    if not said or said[0].strip(_AROUND).lower() not in firsts:
        return False
    bare = [word.strip(_AROUND).lower() for word in said]
    return any(" ".join(bare[:count]) in known for count in range(1, len(bare) + 1))


@cache
def _bare(name: str, language: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a list as they stand in a sentence, with how each begins: every sentence of an answer is asked."""
    known = frozenset(word.strip(_AROUND) for word in _list(name, language))
    return frozenset(word.partition(" ")[0] for word in known), known


@cache
def _joined(*names: str, language: str) -> tuple[str, ...]:
    """The words of some lists that stand without blanks around them, the longest first."""
    found = {word for name in names for word in _list(name, language) if is_joined(word)}
    return tuple(sorted(found, key=len, reverse=True))


@cache
def _phrases(*names: str, language: str) -> tuple[frozenset[str], int]:
    """What is on some lists, and how many words the longest of it has."""
    known = frozenset(word for name in names for word in _list(name, language))
    return known, max(word.count(" ") for word in known) + 1


def rest_of(text: str, *names: str) -> str:
    """A text on one line without the words of some lists; what is left keeps its case.

    For a prompt's hook: looking a few dozen words up costs less than a pattern of a list, which has to be made.
    """
    language = language_of(text)
    known, longest = _phrases(*names, language=language)
    if language in ("han", "hangul"):
        for word in _joined(*names, language=language):
            text = text.replace(word, " ")
    said = text.split()
    bare = [word.strip(_AROUND).lower() for word in said]
    rest, place = [], 0
    while place < len(said):
        spans = range(min(longest, len(said) - place), 0, -1)
        found = next((span for span in spans if " ".join(bare[place : place + span]) in known), 0)
        if not found:
            rest.append(said[place])
        place += found or 1
    return " ".join(rest)
