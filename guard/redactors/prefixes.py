"""Prefixes: the keys and tokens that services mark by a prefix or a sign of their own, written from what the services publish.

A table for `guard.redactors.secret`; data only. Each row is the sign, which stands in the text as it is, and what follows it. A row is added here
and nowhere else. Sign and rest are at least twenty characters of letters, digits and `_.~/+=-`.
"""

from __future__ import annotations

_W = "[A-Za-z0-9_-]"
_A = "[A-Za-z0-9]"
_H = "[0-9a-f]"
_B = "[A-Za-z0-9+/=_-]"


def _each(signs: str, rest: str) -> tuple[tuple[str, str], ...]:
    return tuple((sign, rest) for sign in signs.split())


PREFIXES: tuple[tuple[str, str], ...] = (
    *_each("AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}\\b"),
    ("ABSK", f"{_B}{{100,280}}"),
    *_each("ghp_ gho_ ghu_ ghs_ ghr_", f"{_A}{{30,255}}"),
    ("github_pat_", "[A-Za-z0-9_]{36,255}"),
    *_each("glpat- gldt- glrt- glrtr- glptt- glsoat- gloas- glffct- glft- glimt- glagent-", "[A-Za-z0-9_.-]{18,255}"),
    *_each("glcbt-", f"{_W}{{16,80}}"),
    ("GR1348941", f"{_W}{{20,60}}"),
    ("_gitlab_session=", f"{_W}{{20,64}}"),
    *_each("sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or-", f"{_W}{{20,255}}"),
    ("sk-", f"{_W}{{20,255}}"),
    *_each("sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_", f"{_A}{{12,255}}"),
    *_each("xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xoxc- xoxd- xapp- xwfp-", f"{_W}{{15,255}}"),
    ("xoxe.", f"xox[bp]-{_W}{{14,255}}"),
    ("hooks.slack.com/", "(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,80}"),
    ("discord.com/api/webhooks/", f"[0-9]{{15,22}}/{_W}{{40,100}}"),
    ("discordapp.com/api/webhooks/", f"[0-9]{{15,22}}/{_W}{{40,100}}"),
    ("AIza", f"{_W}{{35}}"),
    ("GOCSPX-", f"{_W}{{20,40}}"),
    ("ya29.", f"{_W}{{20,400}}"),
    *_each("hf_ api_org_", "[A-Za-z0-9]{30,255}"),
    *_each("pplx- gsk_ r8_ xai- fw_", f"{_A}{{30,120}}"),
    ("npm_", f"{_A}{{36}}"),
    ("pypi-AgE", f"{_W}{{20,1000}}"),
    ("rubygems_", f"{_H}{{32,64}}"),
    ("SG.", "[A-Za-z0-9_=-]{16,32}\\.[A-Za-z0-9_=-]{16,64}|SG\\.[A-Za-z0-9_.=-]{66}"),
    ("SK", f"{_H}{{32}}\\b"),
    *_each("dop_v1_ doo_v1_ dor_v1_", f"{_H}{{64}}"),
    ("dapi", f"{_H}{{32}}(?:-[0-9])?\\b"),
    ("dose", f"{_H}{{32}}\\b"),
    *_each("hvs. hvb. hvr.", f"{_W}{{20,300}}"),
    *_each("dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", "[A-Za-z0-9._-]{40,80}"),
    *_each("ntn_ secret_", f"{_A}{{40,60}}"),
    *_each("lin_api_ lin_oauth_", f"{_A}{{32,64}}"),
    ("PMAK-", f"{_H}{{24}}-{_H}{{34}}"),
    ("pul-", f"{_H}{{40}}\\b"),
    *_each("pscale_tkn_ pscale_pw_ pscale_oauth_", "[A-Za-z0-9_=.-]{32,64}"),
    *_each("sntrys_ sntryu_", "[A-Za-z0-9+/=_-]{40,400}"),
    *_each("glc_ glsa_", "[A-Za-z0-9+/=_-]{32,400}"),
    *_each("fo1_ fm1r_ fm1a_ fm2_", "[A-Za-z0-9+/=_-]{40,600}"),
    ("ops_eyJ", f"{_B}{{250,}}"),
    ("A3-", "[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}"),
    *_each("shpat_ shpca_ shppa_ shpss_", "[0-9A-Fa-f]{32}"),
    *_each("sq0atp- sq0csp- sq0idp-", f"{_W}{{22,60}}"),
    ("EAAA", f"{_W}{{56,64}}\\b"),
    *_each("EAAM EAAC EAAG", f"{_A}{{60,300}}"),
    ("ATATT3xFf", "[A-Za-z0-9_=-]{40,250}"),
    ("ATCTT3xFf", "[A-Za-z0-9_=-]{40,250}"),
    ("ATBB", f"{_A}{{32}}\\b"),
    *_each("AKCp cmVmd", f"{_A}{{59,80}}"),
    ("HRKU-AA", f"{_W}{{50,64}}"),
    *_each("EZAK EZTK", f"{_A}{{54}}"),
    *_each("shippo_live_ shippo_test_", f"{_H}{{40}}"),
    *_each("duffel_live_ duffel_test_", "[A-Za-z0-9_=-]{40,50}"),
    *_each("live_ test_", f"{_H}{{35}}\\b"),
    *_each("FLWSECK- FLWPUBK- FLWSECK_TEST- FLWPUBK_TEST-", f"{_A}{{12,50}}(?:-X)?"),
    ("fio-u-", "[A-Za-z0-9_=-]{60,70}"),
    ("dt0c01.", "[A-Z0-9]{24}\\.[A-Z0-9]{64}"),
    ("LTAI", f"{_A}{{16,24}}\\b"),
    ("4b1d", f"{_A}{{38}}\\b"),
    ("CLOJARS_", "[A-Za-z0-9]{60}"),
    ("PRVKEY-", f"{_A}{{20,60}}"),
    ("p8e-", f"{_H}{{32}}"),
    ("s-s4t2ud-", f"{_H}{{64}}"),
    ("s-s4t2af-", f"{_H}{{64}}"),
    *_each("sgp_ slk_", "(?:[0-9A-Fa-f]{16}_|local_)?[0-9A-Fa-f]{40,64}"),
    *_each("sm_aat_ sm_pat_ sm_sat_", f"{_A}{{16}}"),
    *_each("tk-us-", f"{_W}{{48}}"),
    *_each("sqp_ sqa_ squ_", f"{_A}{{40}}"),
    ("rdme_", "[a-z0-9]{70}"),
    ("xkeysib-", f"{_H}{{64}}-{_A}{{16}}"),
    ("pat-na1-", f"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"),
    ("pat-eu1-", f"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"),
    *_each("NRAK- NRJS- NRII-", f"{_W}{{19,40}}"),
    ("v1.0-", f"{_H}{{24}}-{_H}{{146}}"),
    *_each("sc_ ext_ scauth_ authress_", "[a-z0-9]{5,30}\\.[a-z0-9]{4,6}\\.acc[_-][a-z0-9-]{10,32}\\.[a-z0-9+/_=-]{30,120}"),
    ("sha256~", f"{_W}{{43}}"),
    ("t1.", "[A-Z0-9a-z_-]{1,40}={0,2}\\.[A-Z0-9a-z_-]{60,100}={0,2}"),
    ("AQVN", f"{_W}{{35,38}}"),
    *_each("YCAJE YCP", f"{_W}{{20,38}}"),
    ("YC", f"{_W}{{38}}\\b"),
    *_each("key- pubkey-", "[0-9a-f]{32}\\b"),
    ("AGE-SECRET-KEY-1", "[A-Z0-9]{58}"),
    *_each("sbp_ sb_secret_ sb_publishable_", f"{_W}{{20,64}}"),
    *_each("vercel_ vcp_ nfp_ nfc_", f"{_A}{{24,64}}"),
    *_each("tskey-auth- tskey-api- tskey-client-", f"{_W}{{20,80}}"),
    *_each("phc_ phx_", f"{_A}{{40,60}}"),
    *_each("dckr_pat_ dckr_oat_", f"{_W}{{20,64}}"),
    *_each("oy2 ", "[a-z0-9]{43}\\b"),
    *_each("figd_ figo_", f"{_W}{{36,64}}"),
    ("CFPAT-", f"{_W}{{40,64}}"),
    ("lsv2_", f"(?:pt|sk)_{_H}{{32}}_{_H}{{10}}"),
    ("pcsk_", "[A-Za-z0-9_]{40,80}"),
    ("tvly-", f"{_W}{{24,64}}"),
    ("nvapi-", f"{_W}{{50,80}}"),
    ("rnd_", f"{_A}{{24,64}}"),
    ("zpka_", "[A-Za-z0-9_]{30,64}"),
)
"""Sign and what follows it."""


INSIDE: tuple[tuple[str, str], ...] = (
    (".atlasv1.", "[A-Za-z0-9]{14}\\.atlasv1\\.[A-Za-z0-9_=-]{60,70}"),
    ("Q~", "[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    (":A", "[0-9]{7,11}:A[A-Za-z0-9_-]{34}\\b"),
    ("-us", "[0-9a-f]{32}-us[0-9]{1,2}\\b"),
)
"""A sign that stands inside, and the whole."""
