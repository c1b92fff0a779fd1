"""Secrets that only their surroundings give away: assignments, headers, flags, addresses, connection strings."""

import base64
import binascii
import functools
import math
import re
from collections.abc import Callable

from howcome.redact.rules import Rule
from howcome.redact.view import PASSWORD

_STAND_INS = tuple(
    """
    xxx *** ... ${ {{ $( <% %( #{ () :// &lt; \x00 …
    your example placeholder changeme change_me change-me changeit change_it change-it changethis change_this change-this
    dummy redacted sample insert replace some_ some- undefined 123456789 abcdefg a1b2c3 1a2b3c b2a1
    process. environ getenv import.meta nota_ nota- not_a_ not-a- notset not_set not-set notreal not_real not-real
    fake todo masked hidden
    """.split(),
)
_WORDS = frozenset(
    """
    password passwd passwort passphrase pass pwd secret secrets token tokens key string text hidden true false
    null none nil undefined required optional invalid missing unknown empty bearer basic oauth oauth2 jwt env file
    prompt stdin plain plaintext bcrypt sha256 sha512 argon2 scrypt default test user username login admin value
    input number boolean object array char bytes byte list dict type any self this void int str bool float const
    var let new return function async await type=password field label error warning enabled disabled on off yes no
    and or not is the for with from password1 password2 oldpassword newpassword mypassword userpassword
    """.split(),
)
_NAME_LIKE = re.compile(
    r"[A-Za-z_$@#.][A-Za-z0-9_$./-]*?"
    r"(?:pass(?:w(?:or)?d)?|pwd|secret|token|key|cred|auth|field|label|input|error|name|type)"
    r"[A-Za-z_.#-]*[0-9]?",
    re.IGNORECASE,
)
_MAX_NAME_CHARS = 64
_BRACKETS = re.compile(r"[()\[\]{}<>]")
_DIGIT = re.compile(r"[0-9]")
_PARTS = re.compile(r"[_./$@#-]")
_WORD_WITH_NUMBER = re.compile(r"[A-Za-z_.]*[A-Za-z][._-]?[0-9]{1,2}")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{16,}")
_CLASS_RUNS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_CODE = re.compile(r"\w\(|\)$|=>|->|;$")
_REFERENCES = (*"${<%/~&([\\+", "./", "../", "--", ".$", "arn:")
_ASSIGNMENT = re.compile(r"[A-Za-z_.-]{2,24}=")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SYMBOLS = re.compile(r"[!@#$%^&*+=?~,;:|]")


def entropy(value: str) -> float:
    """Shannon entropy of a value in bits per character."""
    size = len(value)
    return math.log2(size) - sum([n * math.log2(n) for n in map(value.count, set(value)) if n > 1]) / size


def is_filled_in(value: str) -> bool:
    """Tell whether a value is more than a placeholder, a reference to a variable or a path."""
    if _ASSIGNMENT.match(value):
        return False
    value = value.strip("'\"`")
    if len(value) < 3 or value.startswith(_REFERENCES):
        return False
    lowered = value.lower()
    for stand_in in _STAND_INS:  # twice as fast as any() of a generator, and this is asked of every candidate
        if stand_in in lowered:
            return False
    return len(set(value)) > 2 and lowered.strip(".,:") not in _WORDS


def is_password(value: str) -> bool:
    """Tell whether the value given for a password can be one: filled in, one word, and not the name of a field."""
    if len(value) < 4 or _ASSIGNMENT.match(value) or " " in value or "\t" in value or value[-1] == ":":
        return False
    if not is_filled_in(value) or (value[0] in "#." and value[1:].replace("-", "").isalpha()):
        return False
    has_parts = _PARTS.search(value) is not None or (value.lower() != value != value.upper())
    return not (has_parts and len(value) <= _MAX_NAME_CHARS and _NAME_LIKE.fullmatch(value))


def is_hard_password(value: str) -> bool:
    """Tell whether a bare word can only be a password: letters with digits, no code punctuation."""
    if len(value) < 6 or not _has_both(value) or _BRACKETS.search(value) or "." in value[1:-1] or "->" in value:
        return False
    return _WORD_WITH_NUMBER.fullmatch(value) is None and is_password(value)


def _has_both(value: str) -> bool:
    """Whether a value has letters and digits."""
    return value.lower() != value.upper() and _DIGIT.search(value) is not None


def is_random(value: str) -> bool:
    """Tell whether a value was drawn at random: hex, a UUID, or letters and digits that change class often."""
    if len(value) < 10 or " " in value or "\t" in value or "=" in value.rstrip("="):
        return False
    if not is_filled_in(value) or _CODE.search(value):
        return False
    if _HEX.fullmatch(value):
        return len(set(value)) > 5 and not value.isdigit()
    return _UUID.fullmatch(value) is not None or (_changes_often(value) and entropy(value) >= 2.8)


def _changes_often(value: str) -> bool:
    runs = _CLASS_RUNS.findall(value)
    covered = len("".join(runs))
    letters = covered - len(_DIGIT.findall(value))
    others = len(value) - covered
    if letters == covered:
        plain = others == 0 and len(value) >= 16
        return plain and (_CONSONANTS.search(value) is not None or len(runs) >= len(value) / 2.5)
    if letters < 4:
        return False
    if len(value) >= 12 and _SYMBOLS.search(value) and entropy(value) >= 3.4:
        return True
    # Separators are discounted, so that words with a number among them do not count as changes.
    return len(runs) - others >= max(4, len(value) / 5) or len(runs) - others // 2 >= max(6, len(value) / 4)


def is_credential_pair(value: str) -> bool:
    """Tell whether base64 text decodes to `user:password`."""
    try:
        return b":" in base64.b64decode(value[: len(value) // 4 * 4], validate=True)
    except (binascii.Error, ValueError):
        return False


def is_url_password(value: str) -> bool:
    """Tell whether the password part of an address is filled in."""
    if any(c in value for c in "{}$<>*[]`|\x00") or value.isdigit():
        return False
    return _URL_STAND_IN.fullmatch(value.lower()) is None


_URL_STAND_IN = re.compile(
    r"x+|(?:my|your|the|db|user|some)?[_-]?(?:password|passwd|pwd|passw)|[._-]+"
    r"|abc|postgres|mysql|mongodb|redis|root|admin|guest|user"
    r"|.*(?:your|example|placeholder|replace|change_?me|insert).*",
)


def is_connection_password(value: str) -> bool:
    """Tell whether a connection string spells its password out."""
    return not any(c in value for c in "%(\x00") and len(set(value)) > 1


def is_storage_key(value: str) -> bool:
    """Tell whether a value has the length of a secret key of S3 or of a store that speaks its protocol."""
    return len(value) in _STORAGE_KEY_LENGTHS and not value.startswith(_DOCUMENTED_KEY)


# AWS and most others 40, Cloudflare 64, DigitalOcean 43, Backblaze 31, older Google and Aliyun stores 30 and 32.
_STORAGE_KEY_LENGTHS = frozenset({30, 31, 32, 40, 43, 44, 64})
# The example key in the documentation of AWS, quoted everywhere with various ends.
_DOCUMENTED_KEY = "wJalrXUtnFEMI/K7MDENG"


# Names, separators and quoted values shared by the patterns; all of them are literal text.
# Also German, Portuguese, Spanish, French, Dutch, Czech, Polish, Swedish, Finnish, Italian, Indonesian, Turkish, Danish, Croatian.
_PASS_WORDS = (
    "passwor", "passwd", "passphrase", "passcode", "pwd", "kennwort", "senha", "contrasen", "mot de passe",
    "motdepasse", "mot_de_passe", "mdp", "wachtwoord", "heslo", "haslo", "losenord", "salasana", "parola", "kata sandi",
    "katasandi", "sifre", "adgangskode", "lozinka",
)  # fmt: skip
_PASS = (
    r"(?:pass(?:w(?:or)?d|wort|phrase|code)|pwd|kennwort|senha|contrasen[ay]a?|mot[ _]?de[ _]?passe|mdp|wachtwoord|heslo|haslo|losenord"
    rf"|salasana|parola|kata ?sandi|sifre|adgangskode|lozinka|{PASSWORD}|[_-]pass)"
)
_SECRET = (
    r"(?:secret|token|credential|jwt|bearer|api[ _.-]?key"
    r"|(?:access|private|auth|encryption|encrypt|signing|license|account|subscription|master"
    r"|deploy|stream|consumer|shared|service|write|admin|server|app|storage|insert|query|ingest|developer)[ _.-]?key"
    r"|sonar[._-]?login|[_-]pat\b|webhook|authorization)"
)
_CLOSE = r"[\]\"'`)*\\]{0,4}"
_TYPE = r"(?:[ \t]?:[ \t]?&?(?:'static )?[Ss]tr(?:ing)?\??)?"
_SEP = r"[ \t]{0,24}(?::=|=>|->|[=!]={1,2}|=|:|,)[ \t]{0,24}"
_QUOTED = r"[bru@]?\\{0,2}(?:\"([^\"\\\r\n]{N,200})|'([^'\\\r\n]{N,200})|`([^`\\\r\n]{N,200}))"
# A random value of some length has a digit; asking for it here keeps most code away from the slower location.
_WITH_DIGIT = r"[A-Za-z_+/.~!@#%^&*-]{0,40}[0-9][A-Za-z0-9_+/.~!@#%^&*-]{4,200}={0,2}"
_QUOTED_RANDOM = (
    r"[bru@]?\\{0,2}(?:\"([^\"\\\r\n \t0-9]{0,40}[0-9][^\"\\\r\n \t]{4,200})"
    r"|'([^'\\\r\n \t0-9]{0,40}[0-9][^'\\\r\n \t]{4,200})"
    r"|`([^`\\\r\n \t0-9]{0,40}[0-9][^`\\\r\n \t]{4,200}))"
)
_SECRET_LITERALS = (
    "secret", "token", "credential", "jwt", "bearer", "api", "access", "private", "auth", "encrypt", "signing", "license",
    "account", "subscription", "master", "deploy", "stream", "consumer", "shared", "service", "write", "admin", "server",
    "app", "storage", "insert", "query", "ingest", "developer", "sonar", "_pat", "-pat", "webhook",
)  # fmt: skip
_PASS_LITERALS = ("pass", "_pass", "-pass", PASSWORD, *_PASS_WORDS)
# Services whose keys have no form of their own (names from public rule files, `token_rules` says which).
_VENDORS = tuple(
    """
    adafruit adobe airtable algolia alibaba aliyun asana assemblyai atlassian auth0 beamer bitbucket bitly bittrex box civo
    clickhouse clickup cloudflare cloudinary codeclimate codecov cohere coinbase confluence confluent configcat contentful
    couchbase coveralls crumb data.gov datadog deepgram discord disqus dnkey droneci dropbox elevenlabs etsy exoscale
    facebook fastly finicity finnhub flickr freshbooks gitea gitter gocardless greptile gumroad heroku honeycomb hubspot
    ibm_cloud infomaniak influx intercom jfrog jira jumpcloud kagi kimi klaviyo kraken kucoin launchdarkly lighton linear
    linked-in linked_in linkedin lob looker mailchimp mailgun mapbox mattermost meraki messagebird message-bird
    message_bird mistral moonshot netlify new-relic new_relic newrelic new-york-times nytimes okta ollama ovh pagerduty
    paradigm plaid polykey postmark private-ai private_ai rapidapi sauce sendbird sentry shodan sonar squarespace stability
    sumo telegram test_reporter travis trello twilio twitch twitter upstage vercel wandb weightsandbiases yandex z.ai
    zendesk
    """.split()
)
_ANY_VENDOR = "(?:" + "|".join(vendor.replace(".", r"\.") for vendor in _VENDORS) + ")"
_TAIL = r"[A-Za-z0-9+/=_.~%-]*"

# fmt: off
CONTEXT_RULES: tuple[Rule, ...] = (
    Rule("aws-secret-key",
         r"(?i)(?:aws[a-z_. -]{0,12}|amazon[a-z_. -]{0,12}|secret_?)(?:secret|access)[a-z_. -]{0,12}key"
         r"(?:[_ ]?id)?[\"'\]]{0,2}[ \t]{0,8}(?:=>|:=|=|:)[ \t]{0,8}[\"']?([A-Za-z0-9/+]{16,128}=?=?)",
         (("aws_secret_access_key = b7Qx2Lm9Zt4Kc8Rv1Wp6" "Hd3Ys5Nj0GfTaEuBiOoM"),), ("aws", "amazon", "secret"), check=is_storage_key,
         final=True),
    Rule("password", rf"(?i){_PASS}s?[_-]?[0-9]{{0,3}}{_CLOSE}{_TYPE}{_SEP}{_QUOTED.replace('N', '4')}",
         ("db_password = 'tr0ub4dor-horse'", '"password": "tr0ub4dor-horse"', "'password' => 'tr0ub4dor-horse'",
         'define("DB_PASSWORD", "tr0ub4dor-horse")', 'let password: &str = "tr0ub4dor-horse"'), _PASS_LITERALS,
         check=is_password),
    Rule("password-short-name", rf"(?i)\bpass[ \t]{{0,12}}:?=[ \t]{{0,12}}{_QUOTED.replace('N', '4')}",
         ("pass = 'swordfish9'",), ("pass",), check=is_password),
    Rule("password-env", r"(?:PASSWORD|PASSWD|PASSPHRASE|PWD|_PASS)[A-Z0-9_]{0,24}=([^ \t\r\n\"'`,;|()<>{}$]{4,200})",
         ("DB_PASSWORD=swordfish",), ("passw", "passphrase", "pwd", "_pass"), check=is_password, tail=_TAIL),
    Rule("password-line", r"(?im)pass(?:word|wd)?=([^ \t\r\n\"'`,;|(){}\[\]<>$]{6,100})[ \t]{0,4}(?:$|[\"'`*|])",
         ("[db]\nPassword=opensesameplease",), ("pass",), check=is_filled_in),
    Rule("password-plain", rf"(?i){_PASS}s?[_-]?[0-9]{{0,2}}{_CLOSE}[ \t]{{0,16}}(?::=|=>|=|:)[ \t]{{0,16}}"
         rf"([^ \t\r\n\"'`,;|()]{{6,72}})", ("password: tr0ub4dor&3x",), _PASS_LITERALS, check=is_hard_password,
         tail=_TAIL),
    Rule("password-after-user",
         r"(?im)user(?:_?name)?[ \t]{0,12}=[ \t]{0,12}[a-z0-9_@.-]{1,60}[ \t]{0,4}[\r\n]{1,2}(?:[ \t]{0,8}(?://|#"
         r"|;)[^\r\n]{0,100}[\r\n]{1,2}){0,3}"
         r"[ \t]{0,16}[a-z0-9_]{0,24}pass(?:word|wd)?[ \t]{0,12}=[ \t]{0,12}([a-z0-9_!@#%^&*-]{6,60})[ \t]{0,4}$",
         ("username = operator\npassword = swordfish_1x",), ("user",), check=is_password),
    Rule("password-said",
         r"(?i)(?:password|passphrase)(?: for [^\r\n.]{1,60}?)? is:? [\"'`]([^\"'`\r\n \t]{4,60})[\"'`]",
         ("The default password for the admin is 'swordfish'.",), ("password", "passphrase"), check=is_filled_in),
    Rule("secret-compared", rf"(?i)secret[ \t]{{0,4}}[=!]={{1,2}}[ \t]{{0,4}}{_QUOTED.replace('N', '6')}",
         ('if creds.secret != "swordfish-9" {',), ("secret",), check=is_password),
    Rule("secret", rf"(?i){_SECRET}[A-Za-z0-9_]{{0,24}}{_CLOSE}{_TYPE}(?:{_SEP}|\({{1,2}}){_QUOTED_RANDOM}",
         ((f'api_key = "{"q9Zt4Kc8Rv1W" "p6Hd3Ys5"}"'), (f'core.setSecret("{"q9Zt4Kc8Rv1W" "p6Hd3Ys5"}")')),
         _SECRET_LITERALS, check=is_random),
    Rule("secret-plain",
         rf"(?i){_SECRET}[A-Za-z0-9_]{{0,24}}{_CLOSE}[ \t]{{0,16}}(?::=|=>|=|:)[ \t]{{0,16}}({_WITH_DIGIT})",
         (("API_TOKEN=q9Zt4Kc8Rv1W" "p6Hd3Ys5"), ("client_secret: q9Zt4Kc8Rv1W" "p6Hd3Ys5")), _SECRET_LITERALS,
         check=is_random, tail=_TAIL),
    Rule("vendor-key",
         rf"(?i){_ANY_VENDOR}[A-Za-z0-9_.-]{{0,30}}{_CLOSE}{_SEP}[\"'`*_]{{0,2}}([A-Za-z0-9][A-Za-z0-9_.:/+=~-]{{13,120}})",
         ('config.facebook.key = "3f9a1c7e5b2d8046a9e1c3f57b0d2846"', ("TWITTER_ID: 'q9Zt4Kc8Rv1W" "p6Hd3Ys5'")),
         _VENDORS, check=is_random),
    Rule("vendor-key-said",
         rf"(?i){_ANY_VENDOR}[^\r\n]{{0,24}}(?:secret|private|access|key|token)[^\r\nA-Za-z0-9]{{0,4}}[^\r\n]{{0,16}}?[ \t:=\"'`]"
         r"([0-9a-f]{32,64}|[A-Za-z0-9_-]{40})\b", (("my bitly access key is 3f9a1c7e5b2d8046" "a9e1c3f57b0d28463f9a1c7e"),),
         _VENDORS, check=is_random),
    Rule("xml-secret",
         r"(?i)<[a-z0-9_.:-]{0,40}(?:password|passwd|passphrase|secret|token|api-?_?key)>([^<\r\n]{4,200})</",
         ("<dbPassword>swordfish9</dbPassword>",), ("<",), check=is_password),
    Rule("xml-attribute",
         r"(?i)(?:key|name)=\"[a-z0-9_.:-]{0,60}(?:password|pwd|secret|token|api_?key)\"[ \t]{1,8}value=\""
         r"([^\"\r\n]{4,300})", ('<add key="MailPassword" value="swordfish9"/>',), ('key="', 'name="'), check=is_filled_in),
    Rule("connection-password", r"(?i)[;&][ \"]?(?:password|pwd)[ ]?=[ ]?([^;&\"'<>{}$\r\n]{2,128})",
         ("Server=db;User Id=app;Password=swordfish;",), (";password", ";pwd", "; password", "; pwd", ';"password', ';"pwd',
         "&password", "&pwd", "& password", "& pwd"), check=is_connection_password),
    Rule("query-password", r"(?i)[?&](?:password|passwd|pwd)=([^&\"'<>{}$ \t\r\n]{4,128})",
         ("https://example.com/?user=a&password=swordfish",), ("?password=", "?passwd=", "?pwd=", "&password=", "&passwd=", "&pwd="), check=is_password),
    Rule("account-key", r"(?i)(?:accountkey|sharedaccesskey|sharedaccesssignature|;secret)=([A-Za-z0-9+/=%]{20,200})",
         ("AccountName=x;AccountKey=" + "q9Zt4Kc8Rv1W" "p6Hd3Ys5Nj0GfTaEuBiOoM==",),
         ("accountkey", "sharedaccess", ";secret"), check=is_filled_in),
    Rule("sas-signature", r"[?&]sig=[\"'`*_]{0,2}([A-Za-z0-9%/+]{40,120}=?)",
         (("?sv=2022-11-02&sig=" "q9Zt4Kc8Rv1Wp6Hd3Ys5" "Nj0GfTaEuBiOoMkXqPzCgVhD%3D"),), ("?sig=", "&sig=")),
    Rule("url-password", r"://[^ \t\r\n:/@\"'<>`]{0,80}:([^ \t\r\n/\"'<>,`]{1,128})@[A-Za-z0-9\[_.-]",
         ("postgres://app:swordfish@db.internal:5432/app", "redis://:swordfish@cache"), ("://",), check=is_url_password),
    Rule("url-token", r"https?://([A-Za-z0-9_.~-]{20,200})(?::x-oauth-basic)?@[a-z0-9.-]{3,80}",
         (("https://q9Zt4Kc8Rv1Wp6" "Hd3Ys5Nj0@git.example.com/a/b"),), ("http",), check=is_random),
    Rule("url-query-key", r"[?&](?:key|code|auth|sign|signature)=[\"'`*_]{0,2}([A-Za-z0-9_%.-]{20,300})",
         (("https://maps.example.com/api?key=q9Zt4Kc8Rv1Wp6" "Hd3Ys5Nj0"),), ("?key=", "?code=", "?auth=", "?sign", "&key=", "&code=", "&auth=",
         "&sign"), check=is_random),
    Rule("authorization",
         r"(?i)authorization[\"'`\]]{0,2}[ \t]{0,4}[:=,][ \t]{0,4}\\{0,2}[\"'`]?(?:bearer|basic|token|apikey|api-key"
         r"|ssws|digest|key|bot|oauth)?[ \t=:]{1,3}[\"'`*_]{0,2}([A-Za-z0-9_.~+/=:-]{8,1000})",
         (("Authorization: Basic dXNlcjpzd29y" "ZGZpc2g="), "'Authorization': 'Token 3f9a1c7e5b2d8046a9e1'"),
         ("authorization",), check=lambda v: is_filled_in(v) and any(c.isdigit() for c in v) | v.endswith("="),
         tail=_TAIL),
    Rule("bearer", r"(?i)\bbearer(?:[ \t:]{1,3}|%20)[\"'`*_]{0,2}([A-Za-z0-9_.~+/=-]{16,1000})",
         (("Bearer q9Zt4Kc8Rv1W" "p6Hd3Ys5"),), ("bearer",), check=is_random, tail=_TAIL),
    Rule("basic-credentials", r"(?i)\bbasic[ \t]{1,3}[\"'`*_]{0,2}([A-Za-z+/]{1,30}[0-9=][A-Za-z0-9+/]{4,400}={0,2})",
         (("basic dXNlcjpzd29y" "ZGZpc2g="),), ("basic",), check=is_credential_pair),
    Rule("docker-auth", r"\"auth\"[ \t]{0,4}:[ \t]{0,4}[\"'`*_]{1,3}([A-Za-z0-9+/]{12,400}={0,2})[\"'`*_]",
         (('"auth": "dXNlcjpzd29y' 'ZGZpc2g="'),), ('"auth"',), check=is_credential_pair),
    Rule("cookie", r"(?i)(?:sess|session|sessid|session_?id|sid|csrftoken|xsrf-token|authtoken"
         r"|remember_token)=[\"'`*_]{0,2}([A-Za-z0-9%._+/=:-]{16,400})", (("Cookie: PHPSESSID=q9zt4kc8rv1w" "p6hd3ys5nj"),),
         ("sess", "sid=", "csrftoken=", "xsrf-token=", "authtoken=", "remember_token="),
         check=lambda v: is_random(v) and not _UUID.fullmatch(v), tail=_TAIL),
    Rule("user-option", r"(?:[ \t\r\n\"',](?:-u|--user|--proxy-user)|--user|--proxy-user)(?:[ \t=]{0,2}|[\"'],[ \t\r\n]{0,20})[\"']?"
         r"[^ \t\r\n:\"'/$]{1,80}:([^ \t\r\n\"'@:/]{3,200})", ("curl -u admin:swordfish https://example.com",),
         (" -", "\t-", "\r-", "\n-", '"-', "'-", ",-", "--user", "--proxy-user"),
         check=lambda v: is_url_password(v) and is_filled_in(v)),
    Rule("secret-option",
         r"(?i)(?:[ \t\r\n\"',]-|--)[a-z0-9-]{0,30}(?:password|passwd|pass|token|secret|api-?key|access-?key|key)"
         r"(?:[ \t=:]{1,4}|[\"'],?[ \t\r\n]{0,20}-?[ \t]{0,4})[\"']?([^ \t\r\n\"'`,;|()<>\[\]]{4,300})",
         ("mysql --password swordfish9x db", ("tool --api-key=q9Zt4Kc8Rv1W" "p6Hd3Ys5"), '["--token", "q9Zt4Kc8Rv1W" "p6"]'),
         (" -", "\t-", "\r-", "\n-", '"-', "'-", ",-", "--"), check=is_hard_password, tail=_TAIL),
    Rule("password-option",
         r"(?i)(?:[ \t\r\n\"',]-|--)[a-z0-9-]{0,30}(?:password|passwd|passphrase)(?:[ \t=:]{1,4}|[\"'],?[ \t\r\n]{0,20}-?[ \t]{0,4})"
         r"[\"'`]?([^ \t\r\n\"'`,;|()<>\[\]{}$-][^ \t\r\n\"'`,;|()<>\[\]{}$]{4,200})", ("tool --password swordfish", '["--db-password", "swordfish"]'),
         (" -", "\t-", "\r-", "\n-", '"-', "'-", ",-", "--"), check=is_password),
    Rule("named-pair",
         rf"(?i)(?:name|key|header|variable)[\"'`]?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"'`]?[A-Za-z0-9_.-]{{0,40}}(?:{_SECRET}|{_PASS})[A-Za-z0-9_]{{0,24}}"
         r"[\"'`]?[ \t]{0,4},?[ \t\r\n]{0,40}[\"'`]?value[\"'`]?[ \t]{0,4}[:=][ \t]{0,4}[\"'`]?([^ \t\"'`\r\n]{6,200})",
         ('{"name": "DB_PASSWORD", "value": "swordfish"}', "- name: API_TOKEN\n  value: swordfish9x"),
         ("name", "key", "header", "variable"), check=is_password, tail=_TAIL),
    Rule("login-option", r"(?i)(?:psexec|sshpass|docker login|podman login|helm registry login|mysql|mysqldump|plink"
         r"|smbclient)[^\r\n]{0,160}?[ \t]-p[ \t]?([^ \t\r\n\"'`;|()<>-][^ \t\r\n\"'`;|()<>]{2,200})",
         ("sshpass -p swordfish ssh host", "docker login -u me -p swordfish9"),
         ("psexec", "sshpass", "docker login", "podman login", "helm registry login", "mysql", "plink", "smbclient"),
         check=lambda v: is_filled_in(v) and not v.isdigit()),
    Rule("netrc",
         r"(?i)machine[ \t]{1,8}[^ \t\r\n]{1,100}[ \t\r\n]{1,8}login[ \t]{1,8}[^ \t\r\n]{1,100}[ \t\r\n]{1,8}passwor"
         r"d[ \t]{1,8}[\"'`*_]{0,2}([^ \t\r\n\"'`*]{3,200})", ("machine api.example.com login me password swordfish",), ("machine",),
         check=is_filled_in),
    Rule("credential-call", r"(?:NetworkCredential|PSCredential|DirectoryEntry|PasswordAuthentication|HTTPBasicAuth"
         r"|UsernamePasswordToken|basic_auth)\([^)]{1,100},[ \t\r\n]{0,40}\"([^\"\r\n]{4,100})\"",
         ('new NetworkCredential("build@example.com", "swordfish")',), ("networkcredential", "pscredential",
         "directoryentry", "passwordauthentication", "httpbasicauth", "usernamepasswordtoken", "basic_auth"),
         check=is_filled_in),
    Rule("gradle-credentials",
         r"(?i)credentials[ \t]{0,4}\{[^}]{0,200}password[ \t(=]{1,4}[\"']([^\"'$\r\n]{3,100})[\"']",
         ("credentials {\n  username 'me'\n  password 'swordfish'\n}",), ("credentials",)),
    Rule("okta-token", r"(?i)(?:okta|ssws)[ -~\r\n\t]{0,60}?[\"'` :=](00[A-Za-z0-9_-]{39}[A-Za-z0-9_])",
         (("okta_api_token: 00q9Zt4Kc8Rv1Wp6" "Hd3Ys5Nj0GfTaEuBiOoMkXqPzC"),), ("okta", "ssws"), closed=True),
    Rule("announced-password",
         r"(?i)password[^:\r\n]{0,60}:[^\r\na-f0-9]{0,8}[\r\n]{1,2}(?:[^\r\n]{0,16}[\r\n]{1,2}){0,2}[^\r\n]{0,24}?([0-9a-f]{32})\b",
         (("Use the following password to proceed:\n\n3f9a1c7e5b2d8046" "a9e1c3f57b0d2846\n"),), ("password",)),
    Rule("unseal-key", r"(?i)unseal(?: key)?[ 0-9]{0,4}[: ]{1,3}[\"'`*_]{0,2}([A-Za-z0-9+/]{43,44}=?)",
         (("Unseal Key 1: q9Zt4Kc8Rv1Wp6Hd3Ys5" "Nj0GfTaEuBiOoMkXqPzCgVhD"),), ("unseal",)),
    Rule("wireguard-key", r"(?i)(?:private_?key|preshared_?key)[ \t]{0,8}[=:][ \t]{0,8}([A-Za-z0-9+/]{42,43}=)",
         (("PrivateKey = q9Zt4Kc8Rv1Wp6Hd3Ys5" "Nj0GfTaEuBiOoMkXqPzCgVw="),), ("private", "preshared")),
    Rule("kubeconfig-key", r"client-key-data:[ \t]{1,4}[\"'`*_]{0,2}([A-Za-z0-9+/=]{40,1000})",
         (("client-key-data: q9Zt4Kc8Rv1Wp6Hd3Ys5" "Nj0GfTaEuBiOoMkXqPzCgVw="),), ("client-key-data",),
         tail=r"[A-Za-z0-9+/=]*"),
)
# fmt: on

_PASSWORD_NAME = re.compile(rf"{_PASS}s?[_-]?[0-9]{{0,3}}$", re.IGNORECASE | re.ASCII)
_SECRET_NAME = re.compile(rf"{_SECRET}[a-z0-9_]{{0,24}}$", re.IGNORECASE | re.ASCII)


def is_secret_name_for(name: str, value: str) -> bool:
    """Tell whether a value stored under a name is a secret."""
    check = _check_of(name)
    return check is not None and check(value)


@functools.lru_cache(maxsize=4096)
def _check_of(name: str) -> Callable[[str], bool] | None:
    """What tells whether a value under a name is a secret; None for most names."""
    if _PASSWORD_NAME.search(name):
        return is_password
    return is_random if _SECRET_NAME.search(name) else None
