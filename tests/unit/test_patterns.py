"""Patterns that are compiled when they are first used."""

from howcome.domain.patterns import late


def test_a_pattern_is_compiled_by_its_first_use() -> None:
    """Before that it may even be wrong; then it does what any pattern does."""
    late("(")
    pattern = late(r"a(.)c", 0)
    assert not {"match", "sub"} & set(vars(pattern))
    found = pattern.match("abc")
    assert found is not None
    assert found[1] == "b"
    assert pattern.sub(r"\1", "xabcx") == "xbx"
    assert "match" in vars(pattern)
    assert pattern.pattern == r"a(.)c"
