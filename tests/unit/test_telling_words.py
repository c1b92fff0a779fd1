"""Words that say nothing of a subject are left out of a question, in its language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.domain.answering import asked_of_past
from howcome.domain.text import STOP_WORDS
from howcome.domain.words import language_of, telling


@pytest.mark.parametrize(
    ("asked", "about"),
    [
        ("wieso haben wir den puffer noch mal auf 512 gesetzt", "puffer 512 gesetzt"),
        ("wieso nehmen wir eigentlich AES statt DES?", "nehmen AES statt DES?"),
        ("¿cómo se calcula el seno en la gráfica de mareas?", "calcula seno gráfica mareas?"),
        ("c'était quoi la raison pour le verrou dans `BookingService`", "raison verrou `BookingService`"),
        ("por qué no usamos el índice de la tabla de cargas?", "usamos índice tabla cargas?"),
        ("pq a gente nao usa cast na fila", "usa cast fila"),
        ("почему мы не используем очередь для писем?", "используем очередь писем?"),
    ],
)
def test_what_only_joins_words_goes(asked: str, about: str) -> None:
    """Names, numbers and marks stay as they were typed."""
    assert telling(asked) == about


@pytest.mark.parametrize(
    "asked",
    [
        "why does the die size of the chip matter for the main loop?",
        "who decided on `pour_over` and what was the reason?",
        "fix plus and moins in `Calculator.php`",
        "なぜ キュー を使わないの",
        "poll.py:17 KeyError 'tide'",
        "replace des cipher in vault.py",
        "add the war file and its man page to the bin directory",
        "die size",
        "plot sin cos on the y axis",
        "",
    ],
)
def test_english_and_what_has_no_language_stay(asked: str) -> None:
    """Also where a word of it is an article elsewhere: most of its words tell."""
    assert telling(asked) == asked


@given(
    st.lists(
        st.sampled_from([*"warum ist der Puffer so le tampon est-il y la cola and the queue".split(), *STOP_WORDS])
    )
)
def test_what_is_left_was_asked(said: list[str]) -> None:
    """Every word of it; of English all is left."""
    text = " ".join(said)
    assert set(telling(text).split()) <= set(text.replace("'", " ").split())
    assert telling(" ".join(word for word in said if word in STOP_WORDS)) == " ".join(
        word for word in said if word in STOP_WORDS
    )


def test_nothing_is_left_of_small_words() -> None:
    """Nor of a question of nothing else."""
    assert telling("wieso ist das so?") == ""
    assert asked_of_past("wo waren wir eigentlich noch mal stehen geblieben?") == ""


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("why is the queue full?", ""),
        ("warum haben wir je eine Queue benutzt", ""),
        ("on avait dit quoi pour la file", "romance"),
        ("pq vc tirou a fila", "romance"),
        ("почему очередь", "cyrillic"),
        ("なぜキューを使わないの", "han"),
        ("为什么不用队列", "han"),
        ("왜 큐를 안 썼지", "hangul"),
    ],
)
def test_a_text_shows_which_lists_it_needs(text: str, group: str) -> None:
    """By its letters, or by words that English and German have not."""
    assert language_of(text) == group
