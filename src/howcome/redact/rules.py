r"""Formats of secrets that are recognisable by themselves: tokens, keys, hashes and webhook addresses.

Patterns stay in the subset where Python's `re` (ASCII) and RE2 agree: no look-around, no back-reference,
no `\s` (the engines disagree on the vertical tab), and no single negated class between two literals.
"""

import base64
import binascii
import re
from collections.abc import Callable
from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of secret.

    `literals` are lower-case strings: one of them occurs (ignoring case) wherever the pattern matches.
    The last group that matched is the secret (without groups: the whole match). `check` may refuse a value, `tail`
    continues an accepted value, `closed` refuses a value inside a longer token, `final` makes a refusal hold
    against the other rules. A match begins with one of the literals, or at least and at most `before` characters before one.
    """

    name: str
    pattern: str
    samples: tuple[str, ...]
    literals: tuple[str, ...] = ()
    check: Callable[[str], bool] | None = None
    tail: str = ""
    closed: bool = False
    final: bool = False
    before: tuple[int, int] = (0, 0)


# Invented material for samples: spelled in pieces, so that no sample is a token in this file.
INVENTED = _A = "b7Qx2Lm9Zt4Kc8Rv1Wp6Hd3Ys5Nj0GfTaEuBiOoMkXqPzCgVhDwJyFrSnAlUeIt" * 4
_L = "qzmwnxbevcrtyplokijhugfdsa" * 2
_U = "Q3EGRIZ7T2WKMNVB5YHXJC4DAS6LPFUO" * 3
_H = "3f9a1c7e5b2d8046a9e1c3f57b0d2846" * 5
_D = "8305917264" * 3
_N = "k3v9x1m7q5z2w8c4t6p0" * 4
_UUID = "3f9a1c7e-5b2d-4046-a9e1-c3f57b0d2846"

# The example of the documentation of AWS, quoted everywhere with various ends.
_DOCUMENTED_ID = "AKIAIOSFODNN7"

_HEX_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_B64 = r"[A-Za-z0-9+/]"


def is_encoded_private_key(value: str) -> bool:
    """Tell whether base64 text holds the head of a private key file."""
    head = value[:72]
    try:
        return b"PRIVATE KEY" in base64.b64decode(head[: len(head) // 4 * 4], validate=False)
    except (binascii.Error, ValueError):
        return False


def is_mixed(value: str) -> bool:
    """Tell whether a value has a digit and a letter in it, as a random token of some length always has."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def has_two_cases(value: str) -> bool:
    """Tell whether a value mixes upper and lower case."""
    return value.lower() != value and value.upper() != value


# A prefix of two characters and a token of 24.
_SHORTEST_SCATTERED = 26


def is_scattered(value: str) -> bool:
    """Tell whether digits, small and capital letters of a long value alternate too often for a name."""
    if len(value) < _SHORTEST_SCATTERED:
        return False
    runs = len(re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", value))
    return runs >= len(value) / 4 and is_mixed(value) and has_two_cases(value)


# fmt: off
PROVIDER_RULES: tuple[Rule, ...] = (
    # Private keys: the pattern only says that there may be one, `redact.keys` where it is.
    Rule("private-key", r"(?:BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY|Private-Lines: [0-9]|IBA(?:AK|DAN)|HcCAQEE|MIGkAgEBBD"
         r"|MI[GH][A-Za-z0-9+/]AgEAM|MC4CAQAwBQYDK2Vw|b3BlbnNzaC1rZXkt",
         ("-----BEGIN RSA PRIVATE " + "KEY-----\n" + _A[:64] + "\n" + _A[:64] + "\n-----END RSA PRIVATE " + "KEY-----",
         "-----BEGIN PRIVATE " + "KEY-----\\n" + _A[:64] + "\\n" + _A[9:40] + "\\n-----END PRIVATE " + "KEY-----",
         "-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\nVersion: GnuPG v2\n\n" + _A[:64] + "\n" + _A[:30],
         "Private-Lines: 8\n" + _A[:64], "MIIEpA" "IBAAKCAQEA" + _A[:48]),
         ("begin", "end", "private-lines:", "iba", "hccaqee", "mi", "mc4caqawbqydk2vw", "b3blbnnzac1rzxkt")),
    Rule("private-key-base64", r"\bLS0tLS1CRUdJTi[A-Za-z0-9+/=]{60,}",
         ("LS0tLS1CRUdJTi" + "BSU0EgUFJJVkFURSBLRVktLS0tLQpN" + _A[:64],), ("ls0tls1crudjti",),
         check=is_encoded_private_key),
    Rule("age-secret-key", r"\b(?i:AGE-SECRET-KEY-1[A-Z0-9]{40,60})", ("AGE-SECRET-" + "KEY-1" + _U[:58],),
         ("age-secret-key-",)),
    # Cloud platforms.
    Rule("aws-access-key-id", r"\b((?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16})\b", ("AK" "IA" + _U[:16],
         "AS" "IA" + _U[5:21]), ("akia", "asia", "abia", "acca", "a3t"),
         check=lambda value: not value.startswith(_DOCUMENTED_ID)),
    Rule("aws-mws-token", rf"\bamzn\.mws\.{_HEX_UUID}", ("amzn." "mws." + _UUID,), ("amzn.mws.",)),
    Rule("aws-appsync-key", r"\bda2-[a-z0-9]{26}\b", ("da" "2-" + _N[:26],), ("da2-",)),
    Rule("aws-bedrock-key", rf"\bABSK{_B64}{{80,}}=*", ("AB" "SK" + _A[:110],), ("absk",), closed=True),
    Rule("azure-ad-secret", r"\b[A-Za-z0-9_.-]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34}", (_A[:3] + "8Q" "~" + _A[:34],),
         ("q~",), before=(4, 4)),
    Rule("azure-devops-pat", r"\b[A-Za-z0-9]{70,76}AZDO[A-Za-z0-9]{4}\b", (_A[:76] + "AZ" "DO" + _A[:4],), ("azdo",), before=(70, 76)),
    # Microsoft's "common annotated security keys": Azure OpenAI, Cognitive Services, Web PubSub, DevOps and more.
    Rule("azure-annotated-key", r"\b[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{2}[A-L][A-Za-z0-9]{16}[A-Za-z][A-Za-z0-9]{7}(?:[A-Za-z0-9]{2}==)?",
         (_A[:52] + "JQ" "QJ99BK" + _A[:16] + "X" + _A[:7],), ("jqqj9",), before=(52, 52)),
    Rule("azure-key-signature",
         rf"\b{_B64}{{33,76}}(?:AzFu|\+ASt|\+ABa|AzSe|\+AMC|ACDb|ACRDB?|AAAYI)[A-Za-z0-9+/]{{4,8}}==?",
         (_A[:44] + "Az" "Fu" + _A[:6] + "=", _A[:76] + "+A" "St" + _A[:6] + "=="),
         ("azfu", "+ast", "+aba", "azse", "+amc", "acdb", "acrd", "aaayi"), check=has_two_cases,
         before=(33, 76)),
    Rule("google-api-key", r"\bAIza[A-Za-z0-9_-]{35}", ("AI" "za" + _A[:35],), ("aiza",)),
    Rule("google-oauth-secret", r"\bGOCSPX-[A-Za-z0-9_-]{28}", ("GOC" "SPX-" + _A[:28],), ("gocspx-",)),
    Rule("google-oauth-token", r"\bya29\.[A-Za-z0-9_.-]{20,500}", ("ya" "29." + _A[:60],), ("ya29.",)),
    Rule("google-refresh-token", r"\b1//0[A-Za-z0-9_-]{38,120}", ("1//" "0" + _A[:60],), ("1//0",), check=is_mixed),
    Rule("google-oauth-client", r"\b([0-9]{6,16}-[a-z0-9]{32})\.apps\.googleusercontent\.com",
         (_D[:12] + "-" + _N[:32] + ".apps.google" "usercontent.com",), (".apps.googleusercontent.com",), before=(39, 49)),
    Rule("firebase-server-key", r"\bAAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{100,}",
         ("AAAA" + _A[:7] + ":APA" "91b" + _A[:140],), (":apa91b",), before=(11, 11)),
    Rule("alibaba-access-key", r"\bLTAI[A-Za-z0-9]{12,20}\b", ("LT" "AI" + _A[:20],), ("ltai",), check=is_mixed,
         closed=True),
    Rule("tencent-secret-id", r"\bAKID[A-Za-z0-9]{28,40}\b", ("AK" "ID" + _A[:32],), ("akid",), check=has_two_cases,
         closed=True),
    Rule("ibm-cloud-key", r"\bApiKey-[0-9a-f]{8}-[0-9a-f-]{27}", ("Api" "Key-" + _UUID,), ("apikey-",)),
    Rule("yandex-token",
         r"\b(?:t1\.[A-Za-z0-9_-]{10,200}={0,2}\.[A-Za-z0-9_-]{86}|AQVN[A-Za-z0-9_-]{35,38}|y0_[A-Za-z0-9_-]{50,70})",
         ("AQ" "VN" + _A[:36],), ("t1.", "aqvn", "y0_"), check=is_mixed),
    Rule("digitalocean-token", r"\bdo[opr]_v1_[0-9a-f]{64}\b", ("dop_" "v1_" + _H[:64],),
         ("doo_v1_", "dop_v1_", "dor_v1_")),
    Rule("heroku-token", r"\bHRKU-[A-Za-z0-9_-]{36,70}", ("HR" "KU-AA" + _A[:58],), ("hrku-",)),
    Rule("cloudflare-token", r"\b(?:cfat|cfut|cfk)_[A-Za-z0-9]{40,48}\b", ("cf" "at_" + _A[:48],),
         ("cfat_", "cfut_", "cfk_")),
    Rule("cloudflare-origin-key", r"\bv1\.0-[0-9a-f]{24}-[0-9a-f]{140,150}\b", ("v1.0-" + _H[:24] + "-" + _H[:146],),
         ("v1.0-",)),
    Rule("databricks-token", r"\bdapi[0-9a-fA-F]{32}(?:-[0-9]{1,2})?\b", ("da" "pi" + _H[:32] + "-2",), ("dapi",)),
    Rule("fly-token", r"\b(?:fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/=_-]{80,})", ("fo" "1_" + _A[:43],),
         ("fo1_", "fm1_", "fm2_", "fm1a_", "fm1r_", "fm2a_", "fm2r_")),
    Rule("netlify-token", r"\bnf[pcobu]_[A-Za-z0-9]{36,50}\b", ("nf" "p_" + _A[:40],),
         ("nfp_", "nfc_", "nfo_", "nfb_", "nfu_")),
    Rule("vercel-token", r"\bvc[picrka]_[A-Za-z0-9_-]{24,80}", ("vc" "p_" + _A[:24],),
         ("vcp_", "vci_", "vcc_", "vcr_", "vck_", "vca_"), check=is_mixed),
    Rule("render-key", r"\brnd_[A-Za-z0-9]{28,40}\b", ("rn" "d_" + _A[:32],), ("rnd_",), check=is_mixed),
    Rule("scalingo-token", r"\btk-us-[A-Za-z0-9_-]{48}", ("tk-" "us-" + _A[:48],), ("tk-us-",)),
    Rule("supabase-key", r"\b(?:sbp_(?:v0_)?[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{22,40})\b", ("sb" "p_" + _H[:40],
         "sb_" "secret_" + _A[:31]), ("sbp_", "sb_secret_")),
    Rule("planetscale-token", r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}", ("pscale_" "tkn_" + _A[:43],),
         ("pscale_",)),
    Rule("neon-key", r"\b(?:npg_[A-Za-z0-9]{12,40}|napi_[a-z0-9]{60,80})\b", ("np" "g_" + _A[:16],), ("npg_", "napi_"),
         check=is_mixed),
    Rule("prefect-key", r"\bpn[ub]_[A-Za-z0-9]{36}\b", ("pn" "u_" + _A[:36],), ("pnu_", "pnb_")),
    # Code hosting, packages and builds.
    Rule("github-token", r"\bgh[pousr]_[A-Za-z0-9]{36,255}", ("gh" "p_" + _A[:36], "gh" "s_" + _A[:36]),
         ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    Rule("github-app-jwt", r"\bghs_[0-9]{1,20}_eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
         ("gh" "s_12345_ey" "J" + _A[:30] + "." + _A[:40] + "." + _A[:43],), ("ghs_",)),
    Rule("github-fine-grained-pat", r"\bgithub_pat_[A-Za-z0-9_]{60,255}", ("github" "_pat_" + _A[:22] + "_" + _A[:59],),
         ("github_pat_",)),
    Rule("gitlab-token", r"\bgl(?:pat|oas|ptt|dt|rt|rtr|cbt|ft|imt|agent|soat|ffct|wt)-[A-Za-z0-9_.=-]{20,320}",
         ("gl" "pat-" + _A[:20], "gl" "ptt-" + _H[:40]), ("glpat-", "gloas-", "glptt-", "gldt-", "glrt-", "glrtr-",
         "glcbt-", "glft-", "glimt-", "glagent-", "glsoat-", "glffct-", "glwt-")),
    Rule("gitlab-runner-token", r"\bGR1348941[A-Za-z0-9_-]{20,22}", ("GR13" "48941" + _A[:20],), ("gr1348941",)),
    Rule("gitlab-feed-token", r"\b(?:feed_token=|_gitlab_session=)([A-Za-z0-9_-]{20,80})",
         ("feed_" "token=" + _A[:20],), ("feed_token=", "_gitlab_session=")),
    Rule("bitbucket-app-password", r"\bATBB[A-Za-z0-9_=.-]{28,60}", ("AT" "BB" + _A[:32],), ("atbb",), check=is_mixed),
    Rule("atlassian-token", r"\bAT(?:ATT|CTT)3[A-Za-z0-9_=-]{60,250}", ("AT" "ATT3" + _A[:180] + "=3F9A1C7E",),
         ("atatt3", "atctt3")),
    Rule("npm-token", r"\bnpm_[A-Za-z0-9]{36}\b", ("np" "m_" + _A[:36],), ("npm_",), check=is_mixed),
    Rule("npmrc-auth", r"_(?:authToken|auth|password)[ \t]{0,4}=[ \t]{0,4}\"?([A-Za-z0-9+/=_.-]{16,400})",
         ("//registry.example.com/:_auth" "Token=" + _UUID,), ("_authtoken", "_auth", "_password"), check=is_mixed),
    Rule("pypi-token", r"\bpypi-A[A-Za-z0-9_-]{60,}", ("pypi-" "AgEIcHlwaS5vcmc" + _A[:120],), ("pypi-a",)),
    Rule("rubygems-key", r"\brubygems_[0-9a-f]{48}\b", ("ruby" "gems_" + _H[:48],), ("rubygems_",)),
    Rule("crates-token", r"\bcio[A-Za-z0-9]{32}\b", ("ci" "o" + _A[:32],), ("cio",), check=is_mixed, closed=True),
    Rule("nuget-key", r"\boy2[a-z0-9]{43}\b", ("oy" "2" + _N[:43],), ("oy2",), closed=True),
    Rule("clojars-token", r"\bCLOJARS_[0-9a-z]{60}\b", ("CLO" "JARS_" + _N[:60],), ("clojars_",)),
    Rule("hex-pm-key", r"\bhexk_[0-9a-f]{32,64}\b", ("he" "xk_" + _H[:40],), ("hexk_",)),
    Rule("docker-token", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,32}", ("dckr" "_pat_" + _A[:27],), ("dckr_",)),
    Rule("artifactory-token", r"\b(?:AKCp[A-Za-z0-9]{69}|cmVmdGtuOj[A-Za-z0-9+/=]{50,70})\b", ("AK" "Cp" + _A[:69],
         "cmVm" "dGtuOj" + _A[:54]), ("akcp", "cmvmdgtuoj")),
    Rule("codecov-hawk", r"\bhawk\.[A-Za-z0-9_-]{20}\.[A-Za-z0-9_-]{20}", ("ha" "wk." + _A[:20] + "." + _A[5:25],),
         ("hawk.",)),
    Rule("circleci-token", r"\bCCI(?:PAT|PRJ)_[A-Za-z0-9]{20,24}_[0-9a-f]{40}",
         ("CCI" "PAT_" + _A[:22] + "_" + _H[:40],), ("ccipat_", "cciprj_")),
    Rule("buildkite-token", r"\bbk(?:ua|ct|at|pt|rt)_[0-9a-f]{40}", ("bk" "ua_" + _H[:40],),
         ("bkua_", "bkct_", "bkat_", "bkpt_", "bkrt_")),
    Rule("sonar-token", r"\bsq[apu]_[0-9a-f]{40}\b", ("sq" "p_" + _H[:40],), ("sqp_", "squ_", "sqa_")),
    Rule("sourcegraph-token", r"\bsgp_(?:[a-f0-9]{16}_|local_)?[0-9a-fA-F]{40}\b",
         ("sg" "p_" + _H[:16] + "_" + _H[:40],), ("sgp_",)),
    Rule("segment-token", r"\bsgp_[A-Za-z0-9]{64}\b", ("sg" "p_" + _A[:64],), ("sgp_",)),
    Rule("snyk-token", r"\bsnyk_(?:uat|sat)\.[a-z0-9]{8}\.[A-Za-z0-9_.-]{60,}",
         ("snyk_" "uat." + _H[:8] + "." + _A[:80],), ("snyk_",)),
    Rule("semgrep-infracost", r"\bico-[A-Za-z0-9]{32}\b", ("ic" "o-" + _A[:32],), ("ico-",), check=is_mixed),
    Rule("pulumi-token", r"\bpul-[0-9a-f]{40}\b", ("pu" "l-" + _H[:40],), ("pul-",)),
    Rule("terraform-token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}", (_A[:14] + ".atlas" "v1." + _A[:67],),
         (".atlasv1.",), before=(14, 14)),
    Rule("vault-token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,500}", ("hv" "s." + _A[:95],), ("hvs.", "hvb.", "hvr."),
         check=is_mixed),
    Rule("vault-legacy-token", r"\b[sbr]\.(?:[A-Za-z]{0,20}[0-9][A-Za-z0-9]{3,25}|CAES[A-Za-z0-9_-]{60,200})\b",
         ("s." + _A[:24],), ("s.", "b.", "r."), check=is_scattered),
    Rule("doppler-token", r"\bdp\.(?:ct|pt|st|sa|scim|audit|said)\.(?:[a-z0-9_-]{1,40}\.)?[A-Za-z0-9]{40,48}\b",
         ("dp." "pt." + _A[:43], "dp." "st.dev." + _A[:43]), ("dp.",)),
    Rule("onepassword-token", r"\bops_eyJ[A-Za-z0-9+/_-]{100,}={0,3}", ("op" "s_ey" "J" + _A[:200],), ("ops_eyj",)),
    Rule("onepassword-secret-key",
         r"\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}\b",
         (("A3" "-Q3EGRI-Z7T2WKMNVB5-YHXJC-4DAS6-LPFUO"),), ("a3-",)),
    Rule("infisical-token", r"\bst\.[0-9a-f]{8}-[0-9a-f-]{27}\.[0-9a-f]{32}\.[0-9a-f]{32}",
         ("st." + _UUID + "." + _H[:32] + "." + _H[:32],), ("st.",)),
    Rule("tailscale-key", r"\btskey-[a-z]{2,12}-[A-Za-z0-9]{8,20}-[A-Za-z0-9]{18,40}",
         ("ts" "key-auth-" + _A[:12] + "-" + _A[:24],), ("tskey-",)),
    # Models and data services.
    Rule("anthropic-key", r"\bsk-ant-[a-z]{3,8}[0-9]{2}-[A-Za-z0-9_-]{60,130}", ("sk-" "ant-api03-" + _A[:93] + "AA",),
         ("sk-ant-",)),
    Rule("openai-key", r"\bsk-[A-Za-z0-9_-]{18,160}T3BlbkFJ[A-Za-z0-9_-]{16,120}",
         ("sk-" + _A[:20] + "T3Blbk" "FJ" + _A[:20],), ("sk-",)),
    Rule("openrouter-key", r"\bsk-(?:or-v1|lf|cp)-[A-Za-z0-9_-]{32,200}", ("sk-" "or-v1-" + _H[:64],),
         ("sk-or-v1-", "sk-lf-", "sk-cp-"), check=is_mixed),
    Rule("sk-key", r"\bsk-[0-9a-f]{32}\b", ("sk" "-" + _H[:32],), ("sk-",), check=is_mixed, closed=True),
    Rule("groq-key", r"\bgsk_[A-Za-z0-9]{52}\b", ("gs" "k_" + _A[:52],), ("gsk_",), closed=True),
    Rule("huggingface-token", r"\b(?:hf_[A-Za-z]{34}|api_org_[A-Za-z]{34})\b", ("hf" "_" + _L[:34],),
         ("hf_", "api_org_")),
    Rule("replicate-token", r"\br8_[A-Za-z0-9]{37}\b", ("r" "8_" + _A[:37],), ("r8_",)),
    Rule("perplexity-key", r"\bpplx-[A-Za-z0-9]{40,56}\b", ("pp" "lx-" + _A[:48],), ("pplx-",)),
    Rule("xai-key", r"\bxai-[A-Za-z0-9]{70,90}\b", ("xa" "i-" + _A[:80],), ("xai-",)),
    Rule("tavily-key", r"\btvly-(?:dev-|prod-)?[A-Za-z0-9-]{30,50}\b", ("tv" "ly-" + _A[:32],), ("tvly-",)),
    Rule("firecrawl-key", r"\bfc-[0-9a-f]{32}\b", ("f" "c-" + _H[:32],), ("fc-",)),
    Rule("jina-key", r"\bjina_[0-9a-f]{32}[A-Za-z0-9_-]{20,40}", ("ji" "na_" + _H[:32] + _A[:28],), ("jina_",)),
    Rule("pinecone-key", r"\bpcsk_[A-Za-z0-9_]{50,90}", ("pc" "sk_" + _A[:70],), ("pcsk_",)),
    Rule("langchain-key", r"\bls(?:v2_(?:pt|sk)|__)_?[0-9a-f]{32}(?:_[0-9a-f]{10})?\b",
         ("lsv2_" "pt_" + _H[:32] + "_" + _H[:10],), ("lsv2_", "ls__")),
    Rule("posthog-key", r"\bph[xs]_[A-Za-z0-9]{40,60}\b", ("ph" "x_" + _A[:43],), ("phx_", "phs_"), check=is_mixed),
    Rule("weaviate-nvidia-key", r"\bnvapi-[A-Za-z0-9_-]{60,80}", ("nv" "api-" + _A[:64],), ("nvapi-",)),
    Rule("friendli-voyage-key", r"\b(?:flp|pa)_[A-Za-z0-9]{46}\b", ("fl" "p_" + _A[:46],), ("flp_", "pa_"),
         check=is_mixed),
    Rule("cerebras-deepseek-key", r"\b(?:csk|dsk|fw|sess|key)_[A-Za-z0-9]{40,60}\b", ("cs" "k_" + _A[:48],),
         ("csk_", "dsk_", "fw_", "sess_", "key_"), check=is_mixed),
    Rule("elevenlabs-key", r"\bsk_[0-9a-f]{48}\b", ("s" "k_" + _H[:48],), ("sk_",)),
    # Services with their own prefix.
    Rule("slack-token", r"\b(?:xox[abeoprst]|xapp|xwfp)-(?:[A-Za-z]-)?[0-9]{1,13}[A-Za-z0-9/-]{10,300}",
         ("xo" "xb-" + _D[:12] + "-" + _D[:13] + "-" + _A[:24],), ("xox", "xapp-", "xwfp-")),
    Rule("slack-config-token", r"\bxox[ecd](?:\.xox[bp])?-[A-Za-z0-9%+/=-]{20,400}", ("xo" "xe.xoxp-1-" + _A[:160],),
         ("xox",)),
    Rule("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9]{6,14}/[A-Za-z0-9]{6,24}/"
         r"[A-Za-z0-9/]{16,80})", ("https://hooks." "slack.com/services/T" + _U[:8] + "/B" + _U[:9] + "/" + _A[:24],),
         ("hooks.slack.com/",)),
    Rule("discord-webhook", r"discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/([0-9]{17,20}/[A-Za-z0-9_-]{60,80})",
         ("https://discord" ".com/api/webhooks/" + _D[:18] + "/" + _A[:68],), ("discord",)),
    Rule("discord-token", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}\b",
         ("M" + _A[:23] + "." + "Gx3" "kQz." + _A[:38],), (".",), check=has_two_cases, before=(24, 28)),
    Rule("teams-webhook",
         r"\.(?:office|office365)\.com/webhook(?:b2)?/([0-9a-f-]{36}@[0-9a-f-]{36}/[A-Za-z]{3,40}/[0-9a-f]{32}/"
         r"[0-9a-f-]{36})", ("https://example.webhook." "office.com/webhookb2/" + _UUID + "@" + _UUID
         + "/IncomingWebhook/" + _H[:32] + "/" + _UUID,), (".office",)),
    Rule("telegram-bot-token", r"\b[0-9]{7,11}:A[A-Za-z][A-Za-z0-9_-]{32,34}", (_D[:10] + ":AA" "E" + _A[:32],),
         (":a",), check=has_two_cases, before=(7, 11)),
    Rule("telegram-bot-path", r"api\.telegram\.org/bot([0-9]{6,12}:[A-Za-z0-9_-]{30,40})",
         ("https://api.telegram.org/bot" + _D[:9] + ":" + _A[:35],), ("api.telegram.org/bot",)),
    Rule("stripe-key", r"\b(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,250}\b", ("sk_" "live_" + _A[:24],
         "rk_" "test_" + _A[:99]), ("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_")),
    Rule("webhook-signing-secret", r"\bwhsec_[A-Za-z0-9+/=]{24,80}", ("wh" "sec_" + _A[:32],), ("whsec_",)),
    Rule("square-token", r"\b(?:sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,50}|EAAA[A-Za-z0-9_-]{58,62}\b)",
         ("sq0" "atp-" + _A[:22], "EA" "AA" + _A[:60]), ("sq0atp-", "sq0csp-", "sq0idp-", "eaaa"), check=is_mixed,
         closed=True),
    Rule("braintree-paypal-token", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
         ("access_" "token$production$" + _N[:16] + "$" + _H[:32],), ("access_token$",)),
    Rule("shopify-token", r"\bshp(?:at|ca|pa|ss|tka|ut)_[A-Za-z0-9]{32,40}\b", ("sh" "pat_" + _H[:32],),
         ("shpat_", "shpca_", "shppa_", "shpss_", "shptka_", "shput_"), check=is_mixed),
    Rule("shippo-token", r"\bshippo_(?:live|test)_[0-9a-fA-F]{40}\b", ("shippo" "_live_" + _H[:40],), ("shippo_",)),
    Rule("easypost-key", r"\bEZ[AT]K[A-Za-z0-9]{54}\b", ("EZ" "AK" + _A[:54],), ("ezak", "eztk"), closed=True),
    Rule("flutterwave-key", r"\bFLW(?:PUB|SEC)K(?:_TEST)?-[A-Za-z0-9-]{12,50}", ("FLW" "SECK_TEST-" + _H[:32] + "-X",),
         ("flwpubk", "flwseck")),
    Rule("plaid-token", r"\b(?:access|public|link)-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f-]{27}",
         ("access-" "sandbox-" + _UUID,), ("access-", "public-", "link-")),
    Rule("razorpay-key", r"\brzp_(?:live|test)_[A-Za-z0-9]{14,20}\b", ("rzp" "_live_" + _A[:14],), ("rzp_",)),
    Rule("sendgrid-key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", ("S" "G." + _A[:22] + "." + _A[:43],), ("sg.",)),
    Rule("mailgun-key", r"\bkey-[0-9a-f]{32}\b", ("ke" "y-" + _H[:32],), ("key-",)),
    Rule("mailchimp-key", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b", (_H[:32] + "-u" "s13",), ("-us",), before=(32, 32)),
    Rule("brevo-key", r"\bxkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}\b", ("xkey" "sib-" + _H[:64] + "-" + _A[:16],),
         ("xkeysib-",)),
    Rule("resend-key", r"\bre_[A-Za-z0-9]{8,12}_[A-Za-z0-9]{20,30}\b", ("re" "_" + _A[:8] + "_" + _A[:24],), ("re_",),
         check=is_mixed),
    Rule("twilio-id", r"\b(?:AC|SK)[0-9a-f]{32}\b", ("S" "K" + _H[:32], "A" "C" + _H[:32]), ("ac", "sk"), closed=True),
    Rule("newrelic-key", r"\bNR(?:AK|AA|II|IQ|RA|BR|JS)-[A-Za-z0-9_-]{18,40}", ("NR" "AK-" + _U[:27],),
         ("nrak-", "nraa-", "nrii-", "nriq-", "nrra-", "nrbr-", "nrjs-"), check=is_mixed),
    Rule("newrelic-licence", r"\b(?:[a-z]{2}[0-9]{2}xx)?[0-9a-f]{30,36}(?:FFFF)?NRAL\b", (_H[:36] + "NR" "AL",),
         ("nral",), before=(30, 46)),
    Rule("pixie-key", r"\bpx-(?:api|dep)-[0-9a-f]{8}-[0-9a-f-]{27}", ("px-" "api-" + _UUID,), ("px-api-", "px-dep-")),
    Rule("grafana-token",
         r"\b(?:glc_eyJ[A-Za-z0-9+/=]{30,400}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|eyJrIjoi[A-Za-z0-9+/=]{40,300})",
         ("gls" "a_" + _A[:32] + "_" + _H[:8], "gl" "c_eyJ" + _A[:60], "eyJr" "Ijoi" + _A[:70]),
         ("glc_eyj", "glsa_", "eyjrijoi")),
    Rule("sentry-token", r"\bsntry[su]_[A-Za-z0-9+/=_]{60,400}", ("sntr" "yu_" + _H[:64],), ("sntrys_", "sntryu_")),
    Rule("sentry-dsn", r"\bhttps://([0-9a-f]{32}(?::[0-9a-f]{32})?)@[A-Za-z0-9.-]{1,60}sentry\.io",
         ("https://" + _H[:32] + "@o123.ingest.sentry.io/42",), ("https://",)),
    Rule("dynatrace-token", r"\bdt0[a-zA-Z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b",
         ("dt0" "c01." + _U[:24] + "." + _U[:64],), ("dt0",)),
    Rule("honeycomb-key", r"\bhc[abc]i[ck]_[A-Za-z0-9]{58}\b", ("hca" "ik_" + _A[:58],),
         ("hcaik_", "hcaic_", "hcbik_", "hcbic_", "hccik_", "hccic_")),
    Rule("pagerduty-key", r"\bpd(?:us|eu)\+[A-Za-z0-9_+-]{18,60}", ("pd" "us+" + _A[:30],), ("pdus+", "pdeu+")),
    Rule("postman-key", r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}\b", ("PM" "AK-" + _H[:24] + "-" + _H[:34],), ("pmak-",)),
    Rule("readme-key", r"\brdme_[a-z0-9]{70}\b", ("rd" "me_" + _N[:70],), ("rdme_",)),
    Rule("linear-token", r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,64}\b", ("lin" "_api_" + _A[:40],),
         ("lin_api_", "lin_oauth_")),
    Rule("notion-token", r"\b(?:ntn_[0-9]{11}[A-Za-z0-9]{35}|secret_[A-Za-z0-9]{43})\b",
         ("nt" "n_" + (_D * 2)[:11] + _A[:35], "secr" "et_" + _A[:43]), ("ntn_", "secret_"), check=is_mixed),
    Rule("figma-token", r"\bfig[dou][rh]?_[A-Za-z0-9_-]{38,60}", ("fig" "d_" + _A[:40],),
         ("figd_", "figo_", "figu_", "figor_", "figoh_", "figdr_")),
    Rule("airtable-token", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b", ("pa" "t" + _A[:14] + "." + _H[:64],), ("pat",)),
    Rule("asana-token", r"\b[12]/[0-9]{14,20}(?:/[0-9]{14,20})?:[0-9a-f]{32}\b", ("1/" + _D[:16] + ":" + _H[:32],),
         ("1/", "2/")),
    Rule("clickup-contentful-token", r"\b(?:pk_[0-9]{6,9}_[A-Z0-9]{32}|CFPAT-[A-Za-z0-9_-]{43})",
         ("CF" "PAT-" + _A[:43], "p" "k_" + _D[:8] + "_" + _U[:32]), ("cfpat-", "pk_")),
    Rule("typeform-token", r"\btfp_[A-Za-z0-9_.=-]{40,64}", ("tf" "p_" + _A[:44],), ("tfp_",)),
    Rule("hubspot-token", r"\bpat-(?:na|eu|ap)[0-9]-[0-9a-f]{8}-[0-9a-f-]{27}", ("pa" "t-na1-" + _UUID,), ("pat-",)),
    Rule("intercom-token", r"\bdG9r[A-Za-z0-9+/]{56}=", ("dG" "9r" + _A[:56] + "=",), ("dg9r",)),
    Rule("frameio-token", r"\bfio-u-[A-Za-z0-9_=-]{64}", ("fi" "o-u-" + _A[:64],), ("fio-u-",)),
    Rule("duffel-key", r"\bduffel_(?:test|live)_[A-Za-z0-9_=-]{43}", ("duf" "fel_test_" + _A[:43],), ("duffel_",)),
    Rule("adafruit-key", r"\baio_[A-Za-z0-9]{28}\b", ("ai" "o_" + _A[:28],), ("aio_",)),
    Rule("mapbox-token", r"\b[pst]k\.eyJ[A-Za-z0-9_-]{30,300}\.[A-Za-z0-9_-]{20,40}",
         ("sk." "eyJ" + _A[:60] + "." + _A[:22],), ("pk.eyj", "sk.eyj", "tk.eyj")),
    Rule("dropbox-token", r"\bsl\.(?:u\.)?[A-Za-z0-9_-]{80,1000}", ("s" "l." + _A[:140],), ("sl.",), check=is_mixed),
    Rule("facebook-token", r"\bEAA(?:[A-Za-z0-9]{6}){10,60}[A-Za-z0-9]{0,6}\b", ("EA" "ACEdEose0cBA" + _A[:120],),
         ("eaa",), check=is_mixed, closed=True),
    Rule("instagram-token", r"\bIG[A-Z]{2,4}[A-Za-z0-9_-]{20}(?:[A-Za-z0-9_-]{6}){16,40}[A-Za-z0-9_-]{0,6}",
         ("IG" "QWR" + _A[:140],), ("ig",), check=is_mixed, closed=True),
    Rule("twitter-bearer", r"\bAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%+/=]{60,200}", ("A" * 22 + _A[:80],),
         ("aaaaaaaaaaaaaaaaaaaa",), check=is_mixed, closed=True),
    Rule("twitch-stream-key", r"\blive_[0-9]{7,10}_[A-Za-z0-9]{30}\b", ("li" "ve_" + _D[:9] + "_" + _A[:30],),
         ("live_",)),
    Rule("linkedin-secret", r"\bWPL_AP[01]\.[A-Za-z0-9+/=._-]{16,60}", ("WPL" "_AP1." + _A[:16] + ".abCdEF==",),
         ("wpl_ap",)),
    Rule("salesforce-token", r"\b00D[A-Za-z0-9]{12,15}![A-Za-z0-9_.]{80,260}", ("00" "D" + _A[:12] + "!" + _A[:96],),
         ("00d",)),
    Rule("dependency-track-key", r"\bodt_[A-Za-z0-9]{32,48}\b|\bodt_[A-Za-z0-9]{8}_[A-Za-z0-9]{32}\b",
         ("od" "t_" + _A[:36],), ("odt_",), check=is_mixed),
    Rule("kagi-token", r"(?i:kagi)[A-Za-z0-9_ =:./?\"'&-]{1,60}[ =:/?\"'&]([A-Za-z0-9_-]{11}\.[A-Za-z0-9_-]{43})",
         ("KAGI_API_KEY='" + "Kx3" "-Qz9LmT0." + _A[:43],), ("kagi",), check=has_two_cases),
    Rule("truenas-key", r"(?i:api_key|truenas)[A-Za-z\"'`*_, :=\[\r\n]{1,60}\b([0-9]{1,4}-[A-Za-z0-9]{64})\b",
         ('"method":"auth.login_with_api_key", "params":["' + "1" "2-" + _A[:64],), ("api_key", "truenas"),
         check=has_two_cases),
    Rule("kubernetes-bootstrap-token",
         r"(?i:bootstrap|join|kubeadm)[A-Za-z _.:=\"'`*-]{0,40}\b([a-z0-9]{6}\.[a-z0-9]{16})\b",
         ("kubeadm join --token " + "k3v9x1." "m7q5z2w8c4t6p0ab",), ("bootstrap", "join", "kubeadm"), check=is_mixed),
    Rule("mailgun-signing", r"\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b", (_H[:32] + "-" + _H[:8] + "-" + _H[8:16],), ("-",), before=(32, 32)),
    Rule("dropbox-long-lived", r"\b[A-Za-z0-9]{11,15}AAAAAAAAAA[A-Za-z0-9_-]{40,60}", (_N[:11] + "A" * 10 + _A[:43],), ("aaaaaaaaaa",),
         before=(5, 15)),
    Rule("maxmind-key", r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b", (_A[:6] + "_" + _A[:29] + "_mm" "k",), ("_mmk",), before=(36, 36)),
    Rule("authress-key", r"(?i)\b(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,120}",
         (("sc_" + _N[:10] + "." + _N[:5] + ".ac" "c_" + _N[:12] + "." + _A[:40]),), ("sc_", "ext_", "scauth_", "authress_")),
    Rule("facebook-app-token", r"\b[0-9]{15,16}(?:\||%7C)[A-Za-z0-9_-]{27,40}\b", (_D[:15] + "|" + _A[:27],), ("|", "%7c"), before=(15, 16),
         check=has_two_cases),
    Rule("bundler-key", r"(?i)BUNDLE_[A-Z_]{0,20}CONTRIBSYS__COM[\"'` ]{0,4}[=:][\"'`*_ ]{0,4}([0-9a-f]{8}:[0-9a-f]{8})",
         (("BUNDLE_GEMS__CONTRIBSYS__COM: 3f9a1c7e:" "5b2d8046"),), ("bundle_",)),
    Rule("sidekiq-address", r"https?://([0-9a-f]{8}:[0-9a-f]{8})@(?:gems|enterprise)\.contribsys\.com",
         (("https://3f9a1c7e:" "5b2d8046@gems.contribsys.com/"),), ("http",)),
    Rule("jwt", r"\b(?:ey[JI][A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{16,1000})",
         ("ey" "JhbGciOiJIUzI1NiJ9." "eyJ" + _A[:60] + "." + _A[:43],), ("eyj", "eyi"), tail=r"[A-Za-z0-9_-]*"),
    Rule("jwe", r"\beyJ[A-Za-z0-9_-]{16,2000}\.[A-Za-z0-9_-]{0,1000}\.[A-Za-z0-9_-]{8,100}\.[A-Za-z0-9_-]{8,8000}\."
         r"[A-Za-z0-9_-]{16,60}",
         ("ey" "JhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0.." + _A[:16] + "." + _A[:80] + "." + _A[:22],), ("eyj",)),
    # Password hashes.
    Rule("crypt-hash", r"\$(?:1|5|6|7|8|9|y|gy|sha1|md5|apr1)\$(?:rounds=[0-9]{1,9}\$"
         r"|j[A-Za-z0-9]{1,4}\$)?[A-Za-z0-9./]{1,24}\$[A-Za-z0-9./]{20,90}", ("$6" "$" + _A[:8] + "$" + _A[:86],
         "$apr1" "$" + _A[:8] + "$" + _A[:22]), ("$",)),
    Rule("bcrypt-hash", r"\$2[abxy]?\$[0-9]{2}\$[A-Za-z0-9./]{53}", ("$2" "b$12$" + _A[:53],), ("$2",)),
    Rule("modern-password-hash",
         r"(?:argon2(?:id|i|d)\$v=[0-9]{1,3}\$m=[0-9]{1,9},t=[0-9]{1,4},p=[0-9]{1,4}|scrypt\$[A-Za-z0-9=,:]{3,40}"
         r"|pbkdf2[_-]sha(?:1|256|512)\$[0-9]{1,9})" r"\$[A-Za-z0-9+/=.-]{4,90}\$[A-Za-z0-9+/=.-]{16,180}",
         ("$argon2id" "$v=19$m=65536,t=3,p=4$" + _A[:22] + "$" + _A[:43],), ("argon2", "scrypt", "pbkdf2")),
    Rule("kerberos-hash", r"\$krb5(?:asrep|tgs|pa)\$[0-9]{2}\$[A-Za-z0-9@.:*$/_-]{0,200}[0-9a-f]{32,1000}",
         ("$krb5" "asrep$23$user@example.com:" + _H[:32] + "$" + _H,), ("$krb5",), tail=r"[0-9a-f]*"),
    Rule("ldap-hash", r"\{S?(?:SHA|MD5|SSHA|SHA256|SHA512|SSHA512)\}([A-Za-z0-9+/]{20,100}={0,2})",
         ("{SS" "HA}" + _A[:32],), ("{sha", "{ssha", "{md5", "{smd5")),
    Rule("ansible-vault",
         r"\$ANSIBLE_VAULT;1\.[0-9];AES256[A-Za-z0-9;_-]{0,60}[^0-9a-f]{1,16}[^\r\n]{0,40}?([0-9a-f]{60,100})",
         ("$ANSIBLE_" "VAULT;1.1;AES256\n" + _H[:80],), ("$ansible_vault",),
         tail=r"(?:[^0-9a-f\r\n]{0,8}[\r\n]{1,2}[^\r\n]{0,40}?[0-9a-f]{10,100})*"),
)

# Base64 of printable text: which letters stand where is given by the bits that ASCII leaves 0. What it says decides.
ENCODED_RULE = Rule("encoded-secret", r"(?:^|[^A-Za-z0-9+/])((?:[CDI-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/])"
         r"{5,4000}[A-Za-z0-9+/]{0,3}={0,2}(?:\n[A-Za-z0-9+/]{60,80}){0,400}(?:\n[A-Za-z0-9+/]{4,80}={0,2})?)", (base64.b64encode(("api: gh" "p_" + _A[:36]).encode()).decode(),))
# fmt: on
