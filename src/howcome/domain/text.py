"""Words and identifiers of a text: the part of analysis that stores share, in the standard library.

Every pattern here is linear: texts come from transcripts and may be anything.
"""

from __future__ import annotations

from howcome.domain.patterns import late

STOP_WORDS = frozenset(
    "a about again all also am an and any are as at be been being but by can cannot could d did do does doing don down"
    " for from get go had has have he her here him his how i if in into is it its just let lets ll m me more most my no"
    " not now of off on only or other our out over please re s shall she should so some such t than that the their them"
    " then there these they this those to too up us ve very was we were what when where which while who whom why will"
    " with would you your".split()
)
"""Words that say nothing about a subject; taken out of questions and of the index."""

GENERIC_WORDS = frozenset(
    "add answer best better big bit branch build button call change check class clean clear close code comment commit"
    " config continue copy create data day debug default delete different doc documentation done edit end error every"
    " example fail feature few file find first fix folder format function give good great help idea implement improve"
    " install issue keep know last left less line lint list little log look main make many merge message method missing"
    " move name need new next number ok okay one open option output page plan pr print problem project push put"
    " question quick read readme refactor release remove rename repo result return review right run save say script see"
    " set setting show simple small something start step stop string sure take tell test text thank thanks thing think"
    " time try two type typo understand update use user value version want way work write wrong yes"
    " able above accept actual actually after against ago agree agreed ahead allow allowed almost alone along"
    " already alternative although always among amount another anybody anymore anyone anything anyway anywhere apart"
    " apparently appear appears apply argue argument around aside ask asked asks aware away back background bad base"
    " based basically became because become becomes before began begin behind believe below beside besides between"
    " beyond bother bring brings broke brought bunch came case cases cause caused causes certain certainly chance"
    " choice choose chose chosen clearly colleague come comes coming common compare compared complain complained"
    " complete completely concern concerning consider considered correct correctly couldn couple deal decide decided"
    " decides decision definitely deliberate depend depends describe deserve didn difference directly discuss"
    " discussed doesn doubt during each earlier easily easy either else elsewhere end ended ends enough entire"
    " entirely especially etc even eventually ever everybody everyone everything everywhere exact exactly except"
    " exist existing exists expect expected explain explained fact fair fall far feel fell felt few fewer finally"
    " fine forget forgot forth found gave gets getting given gives goes going gone got gotten guess guy guys handle"
    " handled happen happened happening happens hardly hasn haven held hello hence hey hope however important indeed"
    " inside insist instead isn itself job keeps kept kind knew known knows later least leave leaves less likely"
    " looked looking looks lost lots mainly making man manner matter matters maybe mean meaning means meant mention"
    " mentioned might mind moment mostly moved much must myself nearly necessary needed needs neither never nobody"
    " none nor normal normally nothing notice obvious obviously often old once ones opinion originally otherwise"
    " ought ours ourselves outcome outside own part partly past per perhaps pick picked piece place places plus"
    " point points possible possibly prefer pretty previous previously probably proper properly propose proposed"
    " proposes purpose quite rather real really reason reasons recall recent recently regarding related remain"
    " remains remember remembered remind rest said same saw says seem seemed seems seen sense sent serious settle"
    " settled several shared short shouldn similar simply since situation solution solve solved somebody somehow"
    " someone sometime sometimes somewhat somewhere soon sort speak speaks special specific stand standing stands"
    " started starting stay stayed stays still stood story strange stuck stuff suddenly suggest suggested suggests"
    " suppose supposed surely surprise taken takes taking talk talked tend themselves therefore though thought"
    " through throughout throw thrown thus till today together told took toward towards tried trouble trying turn"
    " turned turns twice under unless unlike until upon used useful uses using usual usually various versus via vs wait"
    " wanted wants wasn ways well went weren whatever whats whenever whether whole whose willing wish within without"
    " won wonder wondering wonders word words worked working works worse worst worth wouldn write writing written"
    " wrote yesterday yet".split()
)
"""Words of any project's every day: they never make a question distinctive, however small the store."""

_TOKEN = late(r"[\w./-]+")
_CAMEL_PART = late(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_CJK = late("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_CJK_BYTES = bytes(range(0xE3, 0xEE))
"""One of these begins each of them in UTF-8: where none is, the pattern is not needed. It takes 2 ms to compile."""

_QUOTED = late(r"`([^`\n]{2,64})`")
_PASSAGE_WORD = late(r"\w+")
PASSAGE_SPAN_CHARS = 64 << 10
"""Of a longer text only the beginning and the end are looked through for a passage: no index knows more of it, and a
pasted log of 4.8 MB would cost a prompt 400 ms."""

TITLE_CHARS = 200
MAX_TOKEN_CHARS = 200
MIN_NAME_CHARS = 3
MAX_NAME_CHARS = 64
MIN_STEM_CHARS = 4
MAX_ENDING_CHARS = 7
_CACHE_TOKENS = 50_000

_plain: set[str] = set()
_known: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
"""Tokens seen before, without and with parts: transcripts repeat theirs, and a look-up costs far less than a parse."""


def _token_parts(token: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The extra terms and the names in one token of letters, digits, `_`, `-`, `.` and `/`."""
    known = _known.get(token)
    if known is not None:
        return known
    if len(_known) + len(_plain) >= _CACHE_TOKENS:
        _known.clear()
        _plain.clear()
    parts = _analyze_token(token) if len(token) <= MAX_TOKEN_CHARS else ((), ())
    if parts == ((), ()):
        _plain.add(token)
    else:
        _known[token] = parts
    return parts


def analyze(text: str) -> tuple[list[str], list[str]]:
    """The extra terms and the names (lower case) of a text, of each token once, in the order of their first mention."""
    extra: list[str] = []
    names: list[str] = []
    for token in dict.fromkeys(_TOKEN.findall(text)):
        if token not in _plain:
            more_extra, more_names = _token_parts(token)
            extra += more_extra
            names += more_names
    if not text.isascii():
        extra += cjk_bigrams(text)
    if "`" in text:
        names += _quoted_names(text)
    return extra, names


def _quoted_names(text: str) -> list[str]:
    found = (quoted.strip(" ./-()").lower() for quoted in _QUOTED.findall(text))
    return [name for name in found if len(name) >= MIN_NAME_CHARS and " " not in name and not name.isdigit()]


def _analyze_token(token: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    extra: list[str] = []
    names: list[str] = []
    token = token.strip("./-")
    is_dotted = "/" in token or "." in token
    for word in token.replace("/", ".").split(".") if is_dotted else (token,):
        pieces = word.replace("-", "_").split("_") if "_" in word or "-" in word else (word,)
        if len(pieces) > 1:
            extra.append("".join(pieces))
        for piece in pieces:
            if not (piece.islower() or piece.isupper() or piece.isdigit()):
                camel = _CAMEL_PART.findall(piece)
                if len(camel) > 1:
                    extra += [part for part in camel if len(part) > 1]
        if _is_name(word, len(pieces) > 1):
            names.append(word.lower())
    if is_dotted and not token.replace(".", "").replace("/", "").isdigit():
        names += [token.lower(), token.rsplit("/", 1)[-1].lower()]
    kept = dict.fromkeys(name for name in names if MIN_NAME_CHARS <= len(name) <= MAX_NAME_CHARS)
    return tuple(extra), tuple(kept)


def _is_name(word: str, has_pieces: bool) -> bool:
    """snake_case, CamelCase, mixedCase or ACRONYM; not a number, not an English hyphenation."""
    if has_pieces:
        return "_" in word.strip("_") or any(character.isdigit() for character in word)
    inner = word[1:]
    if word.isupper():
        return len(word) >= MIN_NAME_CHARS and word.isalpha()
    return not inner.islower() and not inner.isdigit() and any(c.isupper() for c in inner) and word.isalnum()


def extra_terms(text: str) -> list[str]:
    """What a plain tokenizer does not find: joined snake_case and kebab-case, parts of CamelCase, bigrams of CJK.

    `FooBar`, `foo_bar` and `foo-bar` so all meet in `foobar`, `foo` and `bar`. Each token counts once.
    """
    return analyze(text)[0]


def cjk_bigrams(text: str) -> list[str]:
    """Overlapping pairs of each run of Chinese, Japanese or Korean characters (a run of one stands alone)."""
    found: list[str] = []
    data = text.encode("utf-8", "replace")
    if len(data.translate(None, _CJK_BYTES)) == len(data):
        return found
    for run in _CJK.findall(text):
        found += [run[index : index + 2] for index in range(len(run) - 1)] or [run]
    return found


def cjk_parts(word: str) -> list[str]:
    """A word; or where it has Chinese, Japanese or Korean runs, which know no blanks, their bigrams and the rest."""
    bigrams = [] if word.isascii() else cjk_bigrams(word)
    return [*bigrams, *(part for part in _CJK.split(word) if part)] if bigrams else [word]


def with_extra_terms(text: str) -> str:
    """`text` with its extra terms appended, ready for a plain tokenizer."""
    extra = extra_terms(text)
    return f"{text} {' '.join(extra)}" if extra else text


def entities(text: str, limit: int = 64) -> list[str]:
    """Names worth looking up exactly, lower case, each once, at most `limit`.

    Backticked terms, paths and file names (a path also by its last part), CamelCase, snake_case, ACRONYMS.
    """
    return list(dict.fromkeys(analyze(text)[1]))[:limit]


def coined_names(text: str) -> list[str]:
    """The names that nobody says by chance: CamelCase and snake_case identifiers (lower case), no acronyms or files."""
    found: dict[str, None] = {}
    for token in _TOKEN.findall(text):
        if token.islower() and "_" not in token:  # most words
            continue
        for word in token.strip("./-").split("."):
            inner = word.strip("_")[1:]
            has_case = not inner.isupper() and any(character.isupper() for character in inner)
            if MIN_NAME_CHARS <= len(word) <= MAX_NAME_CHARS and "/" not in word and (has_case or "_" in inner):
                found[word.lower()] = None
    return list(found)


CODE_CHARS, MAX_CODE_NAMES = 16 << 10, 200
"""Of code that was written so much is looked through, and so many of its identifiers are found."""


def code_terms(code: str) -> str:
    """The identifiers in code, each as the one term of it that no other word has: `FREE_FROM` is `freefrom`."""
    names = dict.fromkeys(name.replace("_", "") for name in coined_names(code[:CODE_CHARS]))
    return " ".join(list(names)[:MAX_CODE_NAMES])


def tokens(text: str | int) -> int:
    """About how many tokens a text (or so many characters) costs a model: four characters each."""
    return -(-(text if isinstance(text, int) else len(text)) // 4)


def trigrams(text: str) -> set[str]:
    """The character trigrams of the words of a text, each padded as pg_trgm pads it (two blanks before, one after)."""
    found: set[str] = set()
    for word in _PASSAGE_WORD.findall(text.lower()):
        padded = f"  {word} "
        found.update(padded[index : index + 3] for index in range(len(padded) - 2))
    return found


def trigram_containment(query: set[str], text: str) -> float:
    """The share (0 to 1) of a query's trigrams that a text holds."""
    return len(query & trigrams(text)) / len(query) if query else 0.0


def best_passage(text: str, words: set[str], limit: int) -> str:
    """The part of `text`, at most `limit` characters, in which most of `words` (lower case, stems do) stand.

    Cut at line breaks or sentence ends where they are near, with an ellipsis where something is left out.
    """
    if len(text) <= limit:
        return text
    heads = {word[:3] for word in words}  # most words of a long text are told by their first letters
    spans = (
        ((0, len(text)),)
        if len(text) <= 2 * PASSAGE_SPAN_CHARS
        else (
            (0, PASSAGE_SPAN_CHARS),
            (len(text) - PASSAGE_SPAN_CHARS, len(text)),
        )
    )
    marks = [
        match.start()
        for begin, end in spans
        for match in _PASSAGE_WORD.finditer(text, begin, end)
        if (word := match.group().lower())[:3] in heads and _is_wanted(word, words)
    ]
    mark = _densest(marks, limit)
    start = max(0, mark - limit // 8)
    if start > 0:
        start = _boundary_near(text, start, mark, limit)
    room = limit - 1 if start else limit
    if start + room < len(text):
        room -= 1
    cut = text[start : start + room].rstrip()
    return ("…" if start else "") + cut + ("…" if start + room < len(text) else "")


def _is_wanted(word: str, words: set[str]) -> bool:
    """Whether a word, or what is left of it without an ending (migrations, queries, query), is among the stems."""
    if word in words:
        return True
    size = len(word)
    if size < MIN_STEM_CHARS:
        return False
    stems = [word[:end] for end in range(max(MIN_STEM_CHARS, size - MAX_ENDING_CHARS), size)]
    return not words.isdisjoint(stems) or (word[-1] == "y" and word[:-1] + "i" in words)


def _densest(marks: list[int], limit: int) -> int:
    """The first mark of the window of `limit` that holds most marks; 0 when there is none."""
    best, best_count, low = 0, 0, 0
    for high, mark in enumerate(marks):
        while mark - marks[low] > limit * 3 // 4:
            low += 1
        if high - low + 1 > best_count:
            best, best_count = marks[low], high - low + 1
    return best


def _boundary_near(text: str, start: int, mark: int, limit: int) -> int:
    """The last line or sentence start shortly before `start`, else the next word, but never one after `mark`."""
    window = text[max(0, start - min(80, limit // 6)) : start]
    for end in ("\n", ". "):
        place = window.rfind(end)
        if place >= 0:
            return start - len(window) + place + len(end)
    space = text.find(" ", start, min(mark, start + 40))
    return space + 1 if space >= 0 else start


def is_one_edit(one: str, other: str) -> bool:
    """Whether two words differ by one letter that is missing, added, changed or swapped with its neighbour."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    rest, others = one[start:], other[start:]
    is_swap = len(rest) >= 2 and rest[:2] == others[:2][::-1] and rest[2:] == others[2:]
    return is_swap or rest[1:] == others or rest == others[1:] or rest[1:] == others[1:]


def title_of(text: str) -> str:
    """The first heading of a text that opens with one, after a few words at most: of a plan that is to be carried out.

    Else the text.
    """
    heads = (line.lstrip("#").strip() for line in text[:TITLE_CHARS].splitlines()[:-1] if line.startswith("#"))
    return next((head for head in heads if head), text)
