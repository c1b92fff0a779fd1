"""Tests of secret redaction: what is found, what is left alone, and that it stays fast and stable."""

import base64
import json
import random
import re
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cost import costs_less, cpu_s
from tests.hostile.scale import examples, of

from howcome.redact.private_spans import strip_private
from howcome.redact.redactor import RULES, Redactor
from howcome.redact.search import selection

KEY = b"a key for tests"
BOTH = {"re2": Redactor(KEY, engine="re2"), "re": Redactor(KEY, engine="re")}
AUTO = Redactor(KEY)
SAMPLES = [(rule.name, sample) for rule in RULES for sample in rule.samples]
PLACEHOLDER = re.compile(r"\[redacted:[a-z0-9-]+:[0-9a-f]{8}\]")
MILLION = of(125_000, 1_000_000)
ALPHANUMERIC = string.ascii_letters + string.digits

CLEAN = (
    "commit 3f9a1c7e5b2d8046a9e1c3f57b0d28463f9a1c7e merged into main",
    '"integrity": "sha512-b7Qx2Lm9Zt4Kc8Rv1Wp6Hd3Ys5Nj0GfTaEuBiOoMkXqPzCgVhDwJyFrSnAlUeItb7Qx2Lm9Zt4Kc8Rv1Wp6Hg=="',
    '{"id": "3f9a1c7e-5b2d-4046-a9e1-c3f57b0d2846", "session_id": "3f9a1c7e-5b2d-4046-a9e1-c3f57b0d2846"}',
    '{"type": "tool_use", "id": "toolu_01Qx2Lm9Zt4Kc8Rv1Wp6Hd3Y"}',
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "password = os.environ['DB_PASSWORD']",
    "const token = process.env.API_TOKEN_V2;",
    'password: "${DB_PASSWORD}"',
    "API_KEY=<your-api-key-1234>",
    "api_key: your_api_key_here_123",
    "token := strings.Fields(line)[0]",
    "def login(user: str, password: str, token: str | None = None) -> bool:",
    "max_tokens=4096, cache_read_input_tokens: 24983",
    '<input type="password" name="password" placeholder="Password">',
    "--- PASS: TestGetSecret/returns_2_values (0.00s)",
    "https://user:password@example.com/path",
    "https://${USER}:${PASS}@example.com/path",
    "the task-list and risk-analysis use sk-learn",
    (
        "-----BEGIN PUBLIC "
        "KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAq9Zt4Kc8Rv1Wp6Hd3Ys5\n-----END PUBLIC "
        "KEY-----"
    ),
    'if "-----BEGIN RSA PRIVATE ' + 'KEY-----" in text:\n    raise ValueError("key in text")',
    "SECRET_KEY = get_secret('django')",
    "token: string; password: string; secret?: null",
    # What stands beside the words of newer rules.
    "docker run --name mongo -p 27017:27017",
    "docker run --link mongo -p 8081:8081 mongo-express",
    "mariadb -u root -p inventory",
    "7z x a.7z && mkdir -p out/dir",
    "mongodump -o x && cp -p dump.bson y",
    'zip -r x.zip . && grep -a "handler" out.log',
    "unzip -q f.zip && grep -w timeout log",
    "redis-cli ping | grep -w PONG",
    "unzip -p a.zip readme.txt",
    "const password = 'Password must contain a digit'",
    "rows are identified by 'order_id' and",
    "field password 'is required'",
    "PASSWORD = 'Passwort eingeben'",
    "fix the password — PROJ-1234",
    "reset password → step2_confirm",
    "password ? hash_v2_value : null",
    "the password rotation is JIRA-1234",
    "password flow is RFC6749",
    "the password column is varchar255",
    "password expiry is 90days",
    "Passwort-Reset ist Ticket-1234",
    "修改密码的测试 test_pw_v2_ok",
    "修改密码接口在 LoginV2Page",
    "パスワード変更は UserV2Controller",
    "비밀번호 재설정 이슈 PROJ-1234",
    "пароль проверяется в login_v2_form",
    "pw: 1920x1080",
    "la clave: cache_v2_users_10",
    "password reset tests: 3passed",
    "password tests in branch: feature1/login2x",
    "password: this must have been",
    "Password: that user does work.",
    "the seed phrase has twelve words and they come from a list of many words that you know",
    "backup phrase is what the user sees when they open the wallet for the first time here",
    "bytes32 private constant TYPEHASH = 0x8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f;",
    "wallet tx 0x8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f",
    '"arn:aws:logs:*:*:log-group:my-app"]}',
    "arn:aws:lambda:*:*:function:my-func",
    "MAX_PW_LENGTH=128chars",
    "BROWSER_PW_CHANNEL=chrome-beta",
    "NEXT_TOKEN=page2-cursor3",
    "TLS_SECRET=app1-tls-cert2",
    "wifi connect fails when the password contains blanks",
    'psk "is wrong"',
    'PSK: "Shared by everyone"',
    "net user %U% %PASSWORD% /add",
    "gh variable set REGION -b eu-central-1",
    "rman docs/guides@latest",
    "md5sum config/master.key",
    "echo running | sudo -S true",
    "keytool -storepass android -list",
    "openssl -passin pass:notasecret",
    'token = "%(T1)s.%(U2)s-%(V3)s.%(W4)s"',
)


def secrets_in(text: str) -> list[str]:
    """Return the secret values that are found in a text."""
    return [text[finding.start : finding.end] for finding in AUTO.scan(text)]


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_every_sample_is_redacted_wherever_it_stands(name: str, sample: str) -> None:
    """Each sample goes when bare, in prose, and after a trip through JSON."""
    texts = (
        sample,
        f"Then I ran it:\n{sample}\nand it worked — ünïcödé.",
        json.loads(json.dumps({"out": f"x\n{sample}"}))["out"],
    )
    for text in texts:
        values = secrets_in(text)
        redacted = AUTO.redact(text)
        assert values, name
        assert PLACEHOLDER.search(redacted)
        assert all(value not in redacted for value in values if len(value) > 4)


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_rule_matches_its_own_sample(name: str, sample: str) -> None:
    """A sample is found by its rule's pattern, holds one of its literals, and passes its check."""
    rule = next(rule for rule in RULES if rule.name == name)
    match = re.search(rule.pattern, sample, re.ASCII)
    assert match is not None
    places = [match.start() + n for n in range(rule.before[0], rule.before[1] + 1)]
    assert not rule.literals or any(sample.lower().startswith(rule.literals, place) for place in places)
    assert rule.check is None or rule.check(match[match.lastindex or 0])


def test_rule_table_keeps_to_the_common_subset() -> None:
    """Names are unique, literals lower case, and no pattern uses what the two engines read differently."""
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.samples
        assert rule.literals or rule.name == "encoded-secret"
        assert all(literal == literal.lower() for literal in rule.literals)
        assert not re.search(r"\\s|\\S|\\Z|\(\?[=!<]|\\[1-9]", rule.pattern), rule.name


@given(st.data())
@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_match_is_where_its_literals_say(data: st.DataObject) -> None:
    """Whatever matches begins at one of the literals, or as far before it as the rule says."""
    rule = data.draw(st.sampled_from([rule for rule in RULES if rule.literals and rule.name != "private-key"]))
    text = data.draw(st.from_regex(re.compile(rule.pattern, re.ASCII)))
    match = re.search(rule.pattern, text, re.ASCII)
    assert match is not None
    lowered = "".join(c.lower() if c.isascii() else c for c in text)
    places = [match.start() + n for n in range(rule.before[0], rule.before[1] + 1)]
    assert any(lowered.startswith(rule.literals, place) for place in places), rule.name


@pytest.mark.parametrize("prefix", ["ghp_", "glpat-", "hvs.", "AKIA"])
def test_exported_token_leaves_its_name(prefix: str) -> None:
    """The name of an exported variable stays readable and the value goes."""
    rule_sample = next(s for _, s in SAMPLES if s.startswith(prefix))
    assert re.fullmatch(r"export X=\[redacted:[a-z0-9-]+:[0-9a-f]{8}\]", AUTO.redact(f"export X={rule_sample}"))


@pytest.mark.parametrize("text", CLEAN)
def test_ordinary_text_is_untouched(text: str) -> None:
    """Hashes, identifiers, placeholders and code that speaks of tokens stay as they are."""
    assert AUTO.redact(text) == text


@given(
    st.lists(st.one_of(st.text(max_size=30), st.sampled_from([s for _, s in SAMPLES])), max_size=6),
    st.sampled_from(["", " ", "\n", '"']),
)
@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_engines_agree_and_redaction_is_idempotent(parts: list[str], joint: str) -> None:
    """Both engines give the same text, and redacting it again changes nothing."""
    text = joint.join(parts)
    redacted = BOTH["re2"].redact(text)
    assert redacted == BOTH["re"].redact(text)
    assert BOTH["re2"].redact(redacted) == redacted


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=200))
@settings(max_examples=examples(200), deadline=None)
def test_any_text_is_accepted(text: str) -> None:
    """Lone surrogates and control characters pass through both engines alike."""
    assert BOTH["re2"].redact(text) == BOTH["re"].redact(text)


@given(st.text(max_size=40))
@settings(max_examples=examples(100), deadline=None)
def test_offsets_are_exact_under_multibyte_text(before: str) -> None:
    """The offsets count characters, whatever stands before the secret."""
    sample = next(s for name, s in SAMPLES if name == "github-token")
    text = f"{before} é🔑 {sample} 終"
    assert sample in secrets_in(text)


def test_equal_secrets_have_equal_placeholders_under_one_key() -> None:
    """A secret has one placeholder per key, and another under another key."""
    sample = next(s for name, s in SAMPLES if name == "github-token")
    first, second = PLACEHOLDER.findall(AUTO.redact(f"{sample} and {sample}"))
    (other,) = PLACEHOLDER.findall(Redactor(b"another key").redact(sample))
    assert first == second != other


def test_redact_value_uses_keys_as_context() -> None:
    """A string under a secret-like key goes, other values keep their shape and type."""
    value = {
        "user": "ann",
        "password": "swordfish",
        "port": 5432,
        "nested": [{"api_key": "q9Zt4Kc8Rv1Wp6Hd3Ys5"}, None, True],
    }
    redacted = AUTO.redact_value(value)
    text = json.dumps(redacted)
    assert "swordfish" not in text
    assert "q9Zt4" not in text
    assert text.count("[redacted:") == 2
    assert AUTO.redact_value(redacted) == redacted
    assert AUTO.redact_value({"password": "string", "n": 1, "token": "os.environ['T']"}) == {
        "password": "string", "n": 1, "token": "os.environ['T']",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <private>b</private> c", "a [private] c"),
        ("a <PRIVATE>b\nc</Private>d", "a [private]d"),
        ("a <private>b", "a [private]"),
        ("<private>a<private>b</private>c</private>d", "[private]d"),
        ("a </private> b", "a </private> b"),
        ("plain", "plain"),
    ],
)
def test_strip_private_drops_spans(text: str, expected: str) -> None:
    """Private spans go in any case, nested, and to the end of the text when never closed."""
    assert strip_private(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "пароль: tr0ub4dor&3x", 'Пароль = "tr0ub4dor&3x"', "密码：tr0ub4dor&3x",  # noqa: RUF001 - other scripts
        'contraseña: "tr0ub4dor&3x"',
        'senha = "tr0ub4dor&3x"', "パスワード: tr0ub4dor&3x", '비밀번호="tr0ub4dor&3x"',
        'mot de passe : "tr0ub4dor&3x"',
        "Kennwort: tr0ub4dor&3x", "hasło: tr0ub4dor&3x", "κωδικός: tr0ub4dor&3x", "wachtwoord = 'tr0ub4dor&3x'",
    ],
)  # fmt: skip
def test_passwords_are_told_in_other_languages(text: str) -> None:
    """The word for a password goes with what follows it, in other scripts and with their punctuation, too."""
    redacted = AUTO.redact(text)
    assert "tr0ub4dor" not in redacted
    assert redacted[:2] == text[:2]


def test_a_seed_phrase_is_hidden_and_a_sentence_is_not() -> None:
    """Words of the list may be common ones; a sentence has some that are not on it."""
    phrase = "pumpkin you side hip all obscure smooth region clinic can pause use"
    assert phrase not in AUTO.redact(f'MNEMONIC="{phrase}"')
    told = "Seed phrase: twelve words that the wallet shows when it is first made for you"
    assert AUTO.redact(told) == told


def test_unknown_engine_is_refused() -> None:
    """An engine that does not exist is an error at once."""
    with pytest.raises(ValueError, match="unknown engine"):
        Redactor(KEY, engine="pcre")


def hard_texts() -> dict[str, str]:
    """Long single lines made to be slow."""
    draw = random.Random(7)
    blob = "".join(draw.choices(ALPHANUMERIC + "+/", k=MILLION))
    return {
        "one letter": "a" * MILLION,
        "base64": blob,
        "assignments": "password=" * (MILLION // 9),
        "headers": "-----BEGIN" * (MILLION // 10),
        "jwt": "eyJ" * (MILLION // 3),
        "quotes": 'password = "' * (MILLION // 12),
        "addresses": "a://b:" * (MILLION // 6),
        "hash": "$1$a" * (MILLION // 4),
        "spaces": " " * MILLION,
    }


@pytest.mark.parametrize("engine", ["re2", "re"])
@pytest.mark.parametrize("name", list(hard_texts()))
def test_long_lines_are_bounded(engine: str, name: str) -> None:
    """A very long line made to be slow takes seconds on a slow machine; squared it would take hours."""
    text = hard_texts()[name]
    assert costs_less(5, lambda: BOTH[engine].redact(text))


@pytest.mark.parametrize("piece", ["A", "QUFB", "0", "/", "-", "=", ".", "_", "\n", "AAAAAAAAAAB "])
def test_a_long_run_of_the_same_is_no_secret(piece: str) -> None:
    """Base64 of an empty image, rules and rulers: nothing in them is taken out, however long they are."""
    text = piece * (200_000 // len(piece))
    assert AUTO.redact(text) == text


def test_a_long_text_that_asks_for_too_much_goes_in_pieces() -> None:
    """What cannot be looked at is taken out whole; what stands around it is kept."""
    prose = "The tide gauges report every five minutes, and the store keeps each reading once.\n" * 1000
    redacted = AUTO.redact(prose + "pwd==" * 40_000 + "\n" + prose)
    assert redacted.startswith(prose[:40_000])
    assert redacted.endswith(prose[-40_000:])
    assert "pwd==" * 10_000 not in redacted
    assert "[redacted:too-dense:" in redacted


@pytest.mark.parametrize("engine", ["re2", "re"])
def test_repeated_rule_literals_are_bounded(engine: str) -> None:
    """Each literal of each rule repeated over a long line stays within the same bound, scaled down."""
    literals = sorted({literal for rule in RULES for literal in rule.literals})
    for literal in literals[:: of(3, 1)] if engine == "re2" else literals[:: of(24, 8)]:  # the slower one locates alike
        text = literal * (20_000 // len(literal))
        assert costs_less(0.5, lambda text=text: BOTH[engine].redact(text)), literal


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_of_many_encoded_texts_only_the_one_that_hides_something_goes() -> None:
    """They are searched together, and none lends another its words; a value may end where its text does."""
    hiding = [_encoded("api: " + _HEAD + _REST), _encoded("the password=swordfish9")]
    clean = [_encoded(f"plain words, number {number}, password=") for number in range(300)]
    redacted = AUTO.redact("\n\n".join([*clean[:100], hiding[0], *clean[100:200], hiding[1], *clean[200:]]))
    assert [value in redacted for value in hiding] == [False, False]
    assert redacted.count("[redacted:encoded-secret:") == 2
    assert all(value in redacted for value in clean)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        (("glsa_" + "\x1b[0m" * 200) * 60, 0.4),
        (("https://u@" + "%25" * 8 + "+" + '"-' * 3000) * 10, 0.5),
        ((_encoded("what is said here is plain") + " ") * 1700, 0.9),
        (("private-ai" * 30 + "password: tr0ub4dor&3x" + "a" * 30_000) * 3, 0.9),
    ],
    ids=["colours in a row", "words of a form", "small encoded texts", "few letters"],
)
def test_no_text_costs_a_call_for_each_of_its_characters(text: str, share: float) -> None:
    """Each of these took more when it was looked at mark by mark, text by text, literal by literal."""
    calls_s = cpu_s(lambda: re.sub(".", lambda one: one[0], text, flags=re.DOTALL))
    assert costs_less(share * calls_s, lambda: Redactor.redact(AUTO, text))


_LEAVES = st.sampled_from([sample for rule in RULES for sample in rule.samples]) | st.sampled_from(
    ["git status", "/home/dev/tidepool/ingest.py", "", "plain words", "-----", "x = 1", 'say "hello"', "token", "\n"]
)


def _leaf_by_leaf(value: object) -> object:
    """What redacting every string on its own gives (values under telling names are left to `redact_value`)."""
    if isinstance(value, str):
        return AUTO.redact(value)
    if isinstance(value, dict):
        return {AUTO.redact(name): _leaf_by_leaf(item) for name, item in value.items()}
    return [_leaf_by_leaf(item) for item in value] if isinstance(value, list) else value


def test_the_automaton_is_made_once() -> None:
    """Each redactor of a process has the same: every store, gate and run has one of its own."""
    assert selection("re2") is selection("re2")


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.recursive(
        _LEAVES,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcde"), inner, max_size=4),
    )
)
def test_strings_searched_together_are_redacted_as_on_their_own(value: object) -> None:
    """One search for all strings of a tool's input finds what a search of each would."""
    assert AUTO.redact_value(value) == _leaf_by_leaf(value)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(CLEAN),
            st.sampled_from([sample for _, sample in SAMPLES]),
            st.text('ab=:\n" \\%\x1b', max_size=20),
            st.dictionaries(
                st.sampled_from(["command", "password", "a b"]), st.sampled_from([*CLEAN[:5], "swordfish9", "x\\"])
            ),
        ),
        max_size=30,
    )
)
def test_what_was_foreseen_is_what_each_gives_alone(values: list[str | dict[str, str]]) -> None:
    """Looking at a batch at once changes nothing but the time."""
    redactor, alone = Redactor(KEY), Redactor(KEY)
    redactor._select = alone._select = AUTO._select
    redactor.foresee(values)
    assert redactor.redact_value(values) == alone.redact_value(values)
    for value in values:
        assert redactor.redact_value(value) == alone.redact_value(value)


_HEAD, _REST = "ghp_q9Zt4Kc8Rv1W" + "p6Hd", "3Ys5Nj0GfTaEuBiOoMk2"


@pytest.mark.parametrize(
    "before",
    ["\n".join(f"item{number:03}" for number in range(60)) + "\n", "aaaa\n" + "x" * 205 + "="],
    ids=["behind sixty words", "behind a long one"],
)
def test_a_cut_token_is_found_behind_what_could_be_one(before: str) -> None:
    """Lines of words look like the parts of a token, and end nowhere."""
    assert _REST not in AUTO.redact(f"{before}{_HEAD}\n{_REST}")


@pytest.mark.parametrize(
    "text", ['PASSWORD="aB3\\?dE5fGh"', '{"password": "aB3\\\\?dE5fGh9"}', "password='q7\\?Zt4Kc8Rv'"]
)
def test_an_escaped_question_mark_hides_nothing(text: str) -> None:
    """A shell's, or JSON's."""
    assert "Zt4Kc8Rv" not in AUTO.redact(text)
    assert "dE5fGh" not in AUTO.redact(text)


def test_what_stands_for_other_characters_is_no_mark() -> None:
    """A letter with an accent in a colour code is none, and the token behind it is whole."""
    assert _HEAD not in AUTO.redact(f"\x1b[\u00e9{_HEAD}{_REST}")
    assert _REST not in AUTO.redact("a\\\n" * 40 + f"x {_HEAD}\\\n  {_REST} y")


def test_a_log_of_candidates_is_read_and_not_wiped() -> None:
    """Three candidates a line, a session in each: only that is taken out. So it is in what base64 hides."""
    lines = [
        f'{{"level":"info","token_count":{number % 9},"auth":"none","url":"https://h.example/api?key={number % 7}'
        f'&session={number:032x}","msg":"password check took {number % 50} ms, token={number % 8}"}}'
        for number in range(1500)
    ]
    redacted = AUTO.redact("\n".join(lines))
    assert "too-dense" not in redacted
    assert redacted.count("password check took") == len(lines)
    code = "".join(f"const token{number} = config.get('token{number}');\n" for number in range(80))
    maps = [base64.b64encode(f'{{"sources":["{number}.ts"],"code":"{code}"}}'.encode()) for number in range(40)]
    text = "\n".join(f"//# sourceMappingURL=data:application/json;base64,{value.decode()}" for value in maps)
    assert AUTO.redact(text) == text
