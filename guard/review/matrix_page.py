"""Matrix page: the matrix as one HTML file that needs nothing else: no script, style, font or picture from elsewhere.

Every name is escaped, and a content policy in the page forbids whatever is not in it. One row for each tool, one column for each role or person;
a tenant is chosen above. Comes after matrix; pure.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from html import escape

from guard.review.cells import tenant_label
from guard.review.matrix import ALLOW, DENY, EITHER, ERROR, HOLD, MEANINGS, REFUSE, Matrix, Square

_SIGNS = {ALLOW: "allow", HOLD: "hold", EITHER: "allow / hold", REFUSE: "–", DENY: "DENY", ERROR: "ERROR"}  # noqa: RUF001 - a dash is meant
_CLASSES = {ALLOW: "a", HOLD: "h", EITHER: "e", REFUSE: "r", DENY: "d", ERROR: "d"}
_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--line:#d5dae0;--soft:#f3f5f7;--a:#d9f2df;--h:#fdf0c8;--e:#e9f0d0;--d:#f9d6d3;--dim:#6a737d}
@media (prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;--line:#363c43;--soft:#1d2125;--a:#1d4a2b;--h:#544410;--e:#3d4a1a;--d:#632622;--dim:#98a2ad}}
*{box-sizing:border-box}body{margin:0;padding:1rem;background:var(--bg);color:var(--fg);font:15px/1.45 system-ui,sans-serif}
h1{font-size:1.25rem;margin:0 0 .25rem}p{margin:.25rem 0 .75rem;color:var(--dim);overflow-wrap:anywhere}
form{display:flex;flex-wrap:wrap;gap:.5rem;margin:.5rem 0 1rem}label{display:flex;flex-direction:column;font-size:.8rem;color:var(--dim)}
input,select{font:inherit;padding:.35rem .5rem;border:1px solid var(--line);border-radius:.35rem;background:var(--soft);color:var(--fg);max-width:90vw}
.box{overflow:auto;max-height:80vh;border:1px solid var(--line);border-radius:.35rem}
table{border-collapse:separate;border-spacing:0}th,td{padding:.35rem .55rem;border-right:1px solid var(--line);border-bottom:1px solid var(--line);text-align:left;white-space:nowrap;vertical-align:top}
thead th{position:sticky;top:0;background:var(--soft);z-index:1}tbody th{position:sticky;left:0;background:var(--soft);min-width:min(45vw,15rem);max-width:45vw;white-space:normal;overflow-wrap:anywhere}
thead th:first-child{left:0;z-index:2}th small,td small{display:block;color:var(--dim);font-weight:400}
.a{background:var(--a)}.h{background:var(--h)}.e{background:var(--e)}.d{background:var(--d);font-weight:600}.r{color:var(--dim)}
.key span{color:var(--fg);display:inline-block;padding:.1rem .45rem;margin:0 .35rem .35rem 0;border-radius:.25rem}[hidden]{display:none}
"""
_SCRIPT = """
const q=document.getElementById('q'),t=document.getElementById('t'),n=document.getElementById('n');
function show(){const w=q.value.toLowerCase();let c=0;
for(const s of document.querySelectorAll('tbody')){s.hidden=s.dataset.tenant!==t.value;
for(const r of s.rows){r.hidden=!r.textContent.toLowerCase().includes(w);if(!s.hidden&&!r.hidden)c++}}n.textContent=c+' tools'}
q.oninput=t.onchange=show;show();
"""


def page(found: Matrix, title: str) -> str:
    """The whole page. `title` says which policy it is."""
    return "\n".join(_parts(found, title)) + "\n"


def _parts(found: Matrix, title: str) -> Iterator[str]:
    head = f"default-src 'none'; style-src {_hashed(_STYLE)}; script-src {_hashed(_SCRIPT)}"
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(head)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>Who may do what: {escape(title)}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>Who may do what: {escape(title)}</h1><p>policy version {escape(found.version)}</p>"
    yield _key()
    yield _form(found)
    yield '<div class="box"><table><thead>'
    yield _heads(found)
    yield "</thead>"
    yield from _bodies(found)
    yield f"</table></div><script>{_SCRIPT}</script></body></html>"


def _hashed(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def _key() -> str:
    told = [f'<span class="{_CLASSES[word]}">{escape(_SIGNS[word])}</span>{escape(MEANINGS[word])}' for word in MEANINGS]
    told.append("<span>approves</span>may approve calls of others that wait")
    return '<p class="key">' + "<br>".join(told) + "</p>"


def _form(found: Matrix) -> str:
    options = "".join(f"<option>{escape(name)}</option>" for name in _tenants(found))
    search = '<label>search<input id="q" type="search" autocomplete="off" placeholder="tool, condition, verdict"></label>'
    return f'<form>{search}<label>tenant<select id="t">{options}</select></label><output id="n"></output></form>'


def _tenants(found: Matrix) -> list[str]:
    return list(map(tenant_label, found.over.tenants))


def _heads(found: Matrix) -> str:
    cells = [
        f'<th scope="col">{escape(label)}<small>{escape("whoever holds no role" if who.kind == "anybody" else who.kind)}</small></th>'
        for label, who in found.over.subjects.items()
    ]
    return f'<tr><th scope="col">tool</th>{"".join(cells)}</tr>'


def _bodies(found: Matrix) -> Iterator[str]:
    """One body for each tenant; without the script all of them show."""
    rows: dict[str, dict[str, list[Square]]] = {}
    for one in found.squares:
        rows.setdefault(one.tenant, {}).setdefault(one.tool, []).append(one)
    for tenant, tools in rows.items():
        yield f'<tbody data-tenant="{escape(tenant)}">'
        for name, squares in tools.items():
            told = "".join(f"<small>{escape(text)}</small>" for text in found.conditions[name])
            yield f'<tr><th scope="row">{escape(name)}{told}</th>{"".join(map(_square, squares))}</tr>'
        yield "</tbody>"


def _square(one: Square) -> str:
    approves = "<small>approves</small>" if one.approves else ""
    where = "; ".join((*one.rules, *one.places, *one.approve_rules, *one.approve_places))
    hint = f' title="{escape(where)}"' if where else ""
    return f'<td class="{_CLASSES[one.call]}"{hint}>{escape(_SIGNS[one.call])}{approves}</td>'
