"""Parts of documents, variants of rankings, and tables: what `howcome eval` makes of its figures."""

from __future__ import annotations

import pytest

from howcome.errors import UsageError
from howcome.evaluate.measurement import named, variants
from howcome.evaluate.tables import as_markdown, has_part, with_part
from howcome.retrieve.ranking import STRATEGIES, WEIGHTS, Ranking


def test_every_tier_strategy_and_weight_has_its_variants() -> None:
    """Tiers that are on: alone, left out, half and double; those that are off: switched on."""
    ranking = Ranking({"fulltext": 1.0, "trigram": 0.3, "embedding": 0.6, "graph": 0.0})
    found = {name: (dict(other.weights), other.strategy) for name, other in variants(ranking, has_vectors=True).items()}
    for tier in ("fulltext", "trigram", "embedding"):
        assert found[f"{tier} alone"] == ({tier: 1.0}, "weighted")
        assert found[f"without {tier}"] == ({**ranking.weights, tier: 0.0}, "weighted")
        assert found[f"half {tier}"][0][tier] == ranking.weights[tier] / 2
    assert found["with graph=0.1"] == ({**ranking.weights, "graph": 0.1}, "weighted")
    assert {name for name in found if name in STRATEGIES} == set(STRATEGIES) - {"weighted"}
    assert found["double trigram"][0]["trigram"] == 0.6
    assert found["double embedding"][0]["embedding"] == 1.0
    assert "double fulltext" not in found


def test_meaning_has_no_variants_where_nothing_embeds() -> None:
    """It would not be asked: its rows would say that it is worth nothing."""
    names = variants(Ranking(WEIGHTS), has_vectors=False)
    assert names
    assert not any("embedding" in name for name in names)
    lone = variants(Ranking({"fulltext": 1.0}), has_vectors=False)
    assert set(lone) == {"rrf", "union", "intersection", "half fulltext"}


def test_a_ranking_is_named_as_it_is_asked_for() -> None:
    """Weights and strategy."""
    assert named(Ranking({"fulltext": 1.0, "trigram": 0.25}, "rrf")) == "fulltext=1,trigram=0.25,strategy=rrf"


def test_a_part_is_replaced_and_nothing_else_is_touched() -> None:
    """Line by line, with the line ends that the document has."""
    text = "a\r\n<!-- howcome eval: x -->\r\nold\r\n<!-- end -->\r\nb `<!-- end -->`\r\n"
    new = with_part(text, "x", "one\ntwo\n")
    assert new == ("a\r\n<!-- howcome eval: x -->\r\n\r\none\r\ntwo\r\n\r\n<!-- end -->\r\nb `<!-- end -->`\r\n")
    assert with_part(new, "x", "one\ntwo\n") == new
    assert has_part(new, "x")
    assert not has_part(new, "y")
    assert with_part("a\u2028b", "x", "one").startswith("a\u2028b\n\n<!-- howcome")
    assert with_part("", "x", "one") == "<!-- howcome eval: x -->\n\none\n\n<!-- end -->\n"


@pytest.mark.parametrize("name", ["", "a b", "-->", "a\n"])
def test_a_part_needs_a_plain_name(name: str) -> None:
    """It stands in a comment."""
    with pytest.raises(UsageError, match="no name of a part"):
        has_part("", name)


def test_names_of_sets_cannot_break_a_table() -> None:
    """Bars, line breaks and marks of a part are text in a cell."""
    cell = {"mean": 0.5, "low": 0.25, "high": 0.75}
    figures = {
        "set": "a|b\n<!-- end -->", "is_passages": False, "questions": 2,
        "levels": {"answer": {"all": {"n": 2, "coverage@5": cell}}},
        "latency_ms": {"p50": 1.26, "p95": 2.0}, "shown_tokens": {"p50": 3.0, "p95": 4.0},
    }  # fmt: skip
    configuration = {
        "howcome": "1", "ranking": "r", "model": "", "questions": 2, "python": "3", "packages": {}, "measured": "day",
    }  # fmt: skip
    lines = as_markdown("howcome eval x", configuration, [figures]).splitlines()
    row = "| a\\|b &lt;!-- end -->, answers | 2 | coverage@5 .500 [.25 .75] |  |  |  | 1.3 / 2.0 | 3 / 4 |"
    assert lines[-1] == row
    assert not any("By category" in line for line in lines)
