"""Formats that are a prefix, an alphabet and a length, as a table: one row is one rule.

The facts are from the vendors' documentation and from public rule files: gitleaks and its successor betterleaks (MIT),
CredSweeper (MIT), Kingfisher and Nosey Parker (Apache-2.0). `benchmarks/formats.py FILE` lists which formats of such a file
have no counterpart here.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from howcome.redact.rules import Rule, has_two_cases, is_mixed, is_scattered


class Token(NamedTuple):
    """A format: the prefixes (as they are), the alphabet after them, how many characters, and what else must hold.

    `alphabet` is a class of a pattern without its brackets; `ignore_case` is for vendors whose tokens come in any case.
    """

    name: str
    prefixes: tuple[str, ...]
    alphabet: str
    least: int
    most: int
    check: Callable[[str], bool] | None = None
    ignore_case: bool = False


_AN, _URL, _B64, _HEX = "A-Za-z0-9", "A-Za-z0-9_-", "A-Za-z0-9+/=", "0-9a-f"

# fmt: off
_TOKENS = (
    Token("adobe-secret", ("p8e-",), "a-z0-9", 32, 32, None, True),
    Token("aikido-key", ("AIK_CI_", "AIK_SECRET_"), _AN, 20, 64),
    Token("akamai-key", ("akab-",), "a-z0-9-", 30, 48, is_mixed),
    Token("alibaba-sts-id", ("STS.",), _AN, 16, 64, has_two_cases),
    Token("apify-token", ("apify_api_",), _AN, 36, 36),
    Token("artifactory-reference", ("cmVmd",), _AN, 59, 59, has_two_cases),
    Token("artifactory-api", ("AKCp",), _AN, 68, 70),
    Token("bitbucket-http-token", ("BBDC-",), _B64, 38, 60, is_mixed),
    Token("bedrock-short-key", ("bedrock-api-key-",), _B64, 28, 4000),
    Token("brave-key", ("BSA",), _URL, 24, 40, is_scattered),
    Token("canva-secret", ("cnvca",), _URL, 51, 51, is_mixed),
    Token("cerebras-key", ("csk-",), "a-z0-9", 48, 48, is_mixed, True),
    Token("checkout-key", ("sk_sbox_", "pk_sbox_", "sk_test_", "pk_test_"), "a-z0-9-", 26, 60, is_mixed),
    Token("clickhouse-secret", ("4b1d",), _AN, 38, 38, is_scattered),
    Token("cockroach-key", ("CCDB1_",), f"{_AN}_", 60, 66),
    Token("configcat-key", ("configcat-sdk-1/",), f"/{_URL}", 45, 45),
    Token("confluent-cloud-key", ("cflt",), f"{_B64}", 60, 64, is_mixed),
    Token("deno-token", ("ddp_", "ddw_", "ddo_"), _AN, 36, 36),
    Token("devin-key", ("apk_user_", "apk_"), _B64, 80, 180, is_mixed),
    Token("devin-user-token", ("cog_",), "a-z2-7", 52, 52, is_mixed),
    Token("discord-mfa", ("mfa.",), _URL, 80, 95, is_mixed),
    Token("dynatrace-any-case", ("dt0c01.", "dt0s01.", "dt0s16."), "a-z0-9.", 80, 100, None, True),
    Token("docker-swarm-token", ("SWMTKN-1-", "SWMKEY-1-"), f"{_B64}-", 40, 100),
    Token("elastic-key", ("essu_", "essa_"), f"={_URL}", 60, 200, is_mixed),
    Token("endor-key", ("endr+",), _AN, 16, 40),
    Token("exoscale-key", ("EXO",), _AN, 24, 30, is_scattered),
    Token("fly-v1", ("FlyV1 ",), f"{_B64},_-", 60, 4000, is_mixed),
    Token("groq-any", ("gsk_",), _AN, 20, 60, has_two_cases),
    Token("grafana-any", ("glc_",), _B64, 40, 400, is_mixed),
    Token("grafana-service", ("glsa_",), f"{_AN}_", 41, 41),
    Token("harness-key", ("pat.", "sat."), f".{_URL}", 60, 80, is_mixed),
    Token("intra42-secret", ("s-s4t2ud-", "s-s4t2af-"), _HEX, 64, 64, None, True),
    Token("langfuse-key", ("sk-lf-", "pk-lf-"), f"{_HEX}-", 36, 36),
    Token("llama-cloud-key", ("llx-",), _AN, 36, 64, is_mixed),
    Token("minimax-key", ("sk-api-",), _URL, 60, 140, is_mixed),
    Token("mongodb-service-secret", ("mdb_sa_sk_",), _URL, 40, 40),
    Token("nats-seed", ("SU", "SA", "SO", "SC", "SN"), "A-Z2-7", 56, 56, is_mixed),
    Token("octopus-key", ("API-",), "A-Z0-9", 25, 27, is_mixed),
    Token("openshift-token", ("sha256~",), _URL, 43, 43, has_two_cases),
    Token("paseto", ("v1.public.", "v2.public.", "v3.public.", "v4.public.", "v1.local.", "v2.local.", "v3.local.", "v4.local."),
          f".{_URL}", 40, 4000, is_mixed),
    Token("paserk", ("k1.secret.", "k2.secret.", "k3.secret.", "k4.secret.", "k1.local.", "k2.local.", "k3.local.", "k4.local."),
          _URL, 24, 200, is_mixed),
    Token("persona-key", ("persona_production_", "persona_sandbox_"), f"{_AN}-", 32, 60),
    Token("polar-key", ("polar_oat_", "polar_pat_", "polar_at_u_", "polar_at_o_"), _AN, 36, 60),
    Token("posthog-project-key", ("phc_",), _URL, 43, 43, is_mixed),
    Token("prefixed-secret-key", ("sk-", "rk-", "ak-"), _URL, 24, 200, is_scattered),
    Token("runpod-key", ("rpa_",), _AN, 24, 60, is_scattered),
    Token("sendgrid-any", ("SG.",), f"=.{_URL}", 66, 66, is_mixed, True),
    Token("settlemint-token", ("sm_aat_", "sm_pat_", "sm_sat_"), _AN, 16, 16, is_mixed),
    Token("zuplo-key", ("zpka_",), f"{_HEX}_", 40, 60),
    Token("slack-rotating", ("xoxe.xoxb-1-", "xoxe.xoxp-1-", "xoxe-1-"), _AN, 140, 170, None, True),
    Token("slack-workspace", ("xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxn-", "xoxp-", "xoxb-"), f"{_AN}-", 16, 200, is_mixed),
    Token("slack-session", ("xoxd-",), r"A-Za-z0-9_/\\+=%-", 60, 400, is_mixed),
    Token("square-any", ("EAAA",), _URL, 22, 64, is_scattered),
    Token("supabase-any", ("sbp_",), "a-z0-9_-", 40, 40, is_mixed),
    Token("togetherai-key", ("tgp_v1_",), _URL, 43, 43),
    Token("trigger-key", ("tr_dev_", "tr_prod_", "tr_stg_", "tr_pat_"), _AN, 20, 40, is_mixed),
    Token("twilio-any-case", ("SK",), "0-9a-fA-F", 32, 32, is_mixed),
    Token("upcloud-token", ("ucat_",), _AN, 24, 32, is_mixed),
    Token("asaas-key", ("aact_hmlg_", "aact_prod_"), f"{_B64}:", 16, 300, is_mixed),
    Token("astra-token", ("AstraCS:",), f"{_AN}:", 20, 120, is_mixed),
    Token("atlassian-any", ("ATATT", "ATCTT", "ATATq"), f"={_URL}", 60, 400, is_mixed),
    Token("cartesia-key", ("sk_car_",), _AN, 20, 40, is_mixed),
    Token("cloudsmith-key", ("csa_",), _AN, 32, 48, is_mixed),
    Token("databento-key", ("db-",), _AN, 29, 29, is_scattered),
    Token("devcycle-key", ("dvc_server_", "dvc_client_", "dvc_mobile_"), f"{_AN}_", 8, 80, is_mixed),
    Token("gc-notify-key", ("gcntfy-",), "a-z0-9-", 70, 120, is_mixed),
    Token("gemini-auth-key", ("AQ.Ab8",), _URL, 40, 60, is_mixed),
    Token("ionic-token", ("ion_",), _AN, 40, 60, is_mixed),
    Token("langsmith-any", ("lsv2_pt_", "lsv2_sk_"), "0-9a-fA-F_", 42, 44, is_mixed),
    Token("lichess-token", ("lip_",), _AN, 20, 24, has_two_cases),
    Token("mailersend-token", ("mlsn.",), _AN, 34, 70, is_mixed),
    Token("mem0-key", ("m0-",), _AN, 26, 48, is_scattered),
    Token("midtrans-key", ("Mid-server-", "Mid-client-"), _URL, 16, 40, is_mixed),
    Token("nylas-any", ("nyk_",), _AN, 60, 80, is_mixed),
    Token("onesignal-key", ("os_v2_app_", "os_v2_org_"), "a-z2-7", 60, 110, is_mixed),
    Token("packagist-token", ("packagist_ort_", "packagist_out_", "packagist_oft_", "packagist_acs_", "packagist_uut_"), _HEX, 60, 90),
    Token("postman-collection", ("PMAT-",), _AN, 26, 26, is_mixed),
    Token("proof-key", ("prf_cli_", "prf_full_"), _AN, 20, 60, is_mixed),
    Token("ramp-secret", ("ramp_sec_",), _AN, 40, 60, is_mixed),
    Token("rootly-key", ("rootly_",), _HEX, 60, 70, is_mixed),
    Token("thunderstore-token", ("tss_",), _AN, 22, 60, is_scattered),
    Token("unkey-key", ("unkey_",), _AN, 20, 40, is_mixed),
    Token("val-town-token", ("vtwn_",), _AN, 20, 60, is_mixed),
    Token("wakatime-any", ("waka_",), "a-z0-9-", 36, 44, is_mixed),
    Token("woocommerce-key", ("cs_", "ck_"), _HEX, 40, 40, is_mixed),
    Token("wandb-key", ("wandb_v1_",), f"{_AN}_", 77, 77),
    Token("xai-any", ("xai-",), _URL, 70, 120, is_mixed),
)
# fmt: on


def _rule(token: Token) -> Rule:
    prefixes = token.prefixes
    flag = "(?i)" if token.ignore_case else ""
    either = "|".join(re.escape(prefix) for prefix in prefixes).replace("\\ ", " ").replace("\\-", "-")
    pattern = rf"{flag}\b(?:{either})[{token.alphabet}]{{{token.least},{token.most}}}"
    samples = tuple(_sample(token, prefix) for prefix in prefixes)
    literals = tuple(prefix.lower() for prefix in prefixes)
    return Rule(token.name, pattern, samples, literals, check=token.check, closed=True)


@lru_cache
def _letters(alphabet: str) -> str:
    """The letters and digits of a class."""
    return "".join(re.findall(f"[{alphabet}]", string.ascii_letters + string.digits))


def _sample(token: Token, prefix: str) -> str:
    """An invented token, the same each time, that holds what must hold."""
    letters = _letters(token.alphabet)
    for attempt in range(100):
        draw = random.Random(f"{token.name} {prefix} {attempt}")  # noqa: S311 - a sample is no secret
        sample = prefix + "".join(draw.choices(letters, k=token.least))
        if token.check is None or token.check(sample):
            return sample
    message = f"no token of {token.name} can pass its check"
    raise ValueError(message)


_PURPOSES = ("_api_", "_apikey_", "_pat_", "_oat_", "_secret_", "_sec_", "_live_", "_production_", "_prod_")
_NAMED = Rule(
    "named-token",  # a vendor's name, what the token is for, and the token
    rf"\b[a-z][a-z0-9]{{1,20}}(?:{'|'.join(_PURPOSES)})[A-Za-z0-9]{{20,100}}",
    (("samsara_api_" + "q9Zt4Kc8Rv1Wp6Hd3Ys5Nj"), ("acme_pat_" + "7Gx2Lm9Zt4Kc8Rv1Wp6Hd3")),
    _PURPOSES,
    before=(2, 21),
    check=is_scattered,
    closed=True,
)
TOKEN_RULES = (*(_rule(token) for token in _TOKENS), _NAMED)
