"""Page: the report of a month as one HTML file that needs nothing else, to be read, printed and filed.

No script, font or picture from elsewhere; a content policy in the page forbids whatever is not in it. Light or dark as the reader has it, black on white on paper. Comes
after `blocks`; pure.
"""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime

from guard.auditing import moments
from guard.auditing.blocks import sections
from guard.auditing.inert import markup
from guard.core.values import JsonObject

BLOCKS_STYLE = """
.report{--a:#2f8f4e;--h:#c98a00;--r:#c2372e;--line:#d5dae0;--soft:#f4f6f8;--dim:#5b6570;--ink:#1b1f24;--paper:#fff}
@media (prefers-color-scheme:dark){.report{--a:#4fb673;--h:#e0aa3e;--r:#ef7a70;--line:#353c44;--soft:#1c2126;--dim:#9aa5b0;--ink:#e6e9ec;--paper:#14181c}}
.report section{margin:2.2rem 0;break-inside:auto}.report h2{font-size:1.2rem;margin:0 0 .6rem;padding-bottom:.3rem;border-bottom:2px solid var(--line)}
.report h3{font-size:1rem;margin:1.4rem 0 .4rem}.report p{margin:.4rem 0 .8rem;max-width:75ch}
.report .figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(8.6rem,1fr));gap:.5rem;margin:1.2rem 0}
.report .figures div{background:var(--soft);border-left:4px solid var(--line);padding:.45rem .7rem;border-radius:.25rem}
.report .figures dt{color:var(--dim);font-size:.82rem}.report .figures dd{margin:0;font-size:1.35rem;font-variant-numeric:tabular-nums}
.report .figures .a{border-color:var(--a)}.report .figures .h{border-color:var(--h)}.report .figures .r{border-color:var(--r)}
.report .check{border-left:6px solid;padding:.55rem .8rem;background:var(--soft);font-weight:600}
.report p.a{border-color:var(--a)}.report p.h{border-color:var(--h)}.report p.r{border-color:var(--r)}.report strong.r{color:var(--r)}
.report .box{overflow-x:auto;margin:.6rem 0 1rem}.report table{border-collapse:collapse;width:100%;font-size:.88rem}
.report caption{text-align:left;font-weight:600;padding:.2rem 0 .35rem;color:var(--dim)}
.report th,.report td{text-align:left;padding:.28rem .55rem;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:break-word}
.report th{background:var(--soft);color:var(--ink);white-space:nowrap}.report td.n,.report th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.report .many td{overflow-wrap:anywhere}.report .many time{white-space:normal}.report time{white-space:nowrap;font-variant-numeric:tabular-nums}.report code{font:12px/1.4 ui-monospace,monospace;word-break:break-all;display:inline-block;min-width:17ch}
.report .two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:0 1.5rem;align-items:start}
.report figure{margin:.6rem 0 1.2rem}.report figcaption{color:var(--dim);font-weight:600;font-size:.88rem;display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin-bottom:.3rem}
.report .key{display:inline-flex;gap:.9rem;font-weight:400}.report .key i{display:inline-block;width:.75em;height:.75em;margin-right:.35em;border-radius:2px}
.report i.a{background:var(--a)}.report i.h{background:var(--h)}.report i.r{background:var(--r)}
.report svg.chart{width:100%;max-width:60rem;height:auto;display:block;font:11px system-ui,sans-serif}.report svg.narrow{display:none}.report svg text{fill:var(--ink)}.report svg .grid{stroke:var(--line)}
.report rect.a{fill:var(--a)}.report rect.h{fill:var(--h)}.report rect.r{fill:var(--r)}
@media screen and (max-width:47rem){.report svg.wide{display:none}.report svg.narrow{display:block;max-width:30rem}
.report th{white-space:normal}.report td,.report th{overflow-wrap:anywhere;padding:.28rem .4rem}.report time{white-space:normal}.report code{min-width:0}
.report .many,.report .many tbody,.report .many tr,.report .many td,.report .many caption{display:block}
.report .many thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.report .many tr{border-bottom:1px solid var(--line);padding:.4rem 0}.report .many td{border:0;padding:.1rem 0;text-align:left;white-space:normal;display:grid;grid-template-columns:7.5rem minmax(0,1fr);gap:0 .6rem}
.report .many td::before{content:attr(data-head);color:var(--dim);font-weight:400}.report .many td:empty{display:none}}
@media print{.report{--a:#2f8f4e;--h:#c98a00;--r:#c2372e;--line:#bbb;--soft:#f2f2f2;--dim:#444;--ink:#000;--paper:#fff}
.report .box{overflow:visible}.report figure,.report tr,.report .figures div,.report .check{break-inside:avoid}.report h2,.report h3,.report caption{break-after:avoid}
.report thead{display:table-header-group}.report table{font-size:8pt}.report th,.report td{white-space:normal;overflow-wrap:anywhere;min-width:5.6em;padding:.2rem .3rem}.report time{white-space:normal}.report code{min-width:0}.report a{color:inherit;text-decoration:none}}
"""
_STYLE = (
    """:root{color-scheme:light dark}body{margin:0}
.report{background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif;padding:1.5rem max(1rem,calc((100vw - 66rem)/2)) 3rem;min-height:100vh}
.report header h1{font-size:1.6rem;margin:0}.report header p{color:var(--dim);margin:.2rem 0}.report nav{font-size:.88rem;margin:.8rem 0}.report nav{display:flex;flex-wrap:wrap;gap:.2rem .9rem}.report nav a{color:inherit}
.report footer{border-top:1px solid var(--line);color:var(--dim);font-size:.85rem;padding-top:.8rem}
@page{size:A4;margin:16mm 14mm}@media print{:root{color-scheme:light}.report{padding:0;font-size:9.5pt}.report nav{display:none}}
"""
    + BLOCKS_STYLE
)
_PARTS = (
    ("proof", "check"), ("days", "by day"), ("refused", "refused"), ("approvals", "approvals"), ("grants", "grants"), ("never", "never decided"), ("unknown", "unknown"),
    ("spoofs", "spoofs"), ("changes", "changes"), ("events", "gaps"), ("figures", "figures"),
)  # fmt: skip


def title(made: JsonObject) -> str:
    """What the report is called."""
    month = datetime.fromtimestamp(moments.month(str(made["month"]))[0], UTC).strftime("%B %Y")
    return f"Audit report, {month}"


def preface(made: JsonObject) -> str:
    """What the report covers, in two lines."""
    scope = f"Tenant {made['tenant']}." if made["tenant"] else "All tenants."
    over = "" if made["over"] else " The month is not over yet."
    stay = " are left in the store" if made["left"] else ""
    told = f"{scope} {made['records']:,} records of the month{stay}, times in UTC.{over}", f"Made at {made['made_at']}."
    return "".join(f"<p>{markup(line)}</p>" for line in told)


def whole(made: JsonObject) -> str:
    """The whole page."""
    policy = f"default-src 'none'; style-src {_hashed(_STYLE)}"
    there = _PARTS[:1] if made["left"] else _PARTS
    parts = "".join(f'<a href="#{name}">{markup(told)}</a>' for name, told in there)
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{markup(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">',
            f"<title>{markup(title(made))}</title><style>{_STYLE}</style></head>",
            f'<body><div class="report"><header><h1>{markup(title(made))}</h1>{preface(made)}<nav aria-label="Sections">{parts}</nav></header><main>',
            sections(made),
            "</main><footer><p>Made by guard audit report from the records alone; arguments and results stand in them as digests and redacted copies.</p></footer></div></body></html>",
        )
    )


def _hashed(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
