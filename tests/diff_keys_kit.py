"""What test_diff_keys works on: a policy in which every key stands, and one edit for each key."""

from __future__ import annotations

POLICY = """
tools:
  find:
    kind: read
    description: Look up.
    allow: [a]
    schema: {type: object, properties: {email: {type: string}, n: {type: integer}}, required: [email]}
    coerce: lossless
    unwrap: true
    timeout: 5s
    ground: {email: {any_of: [{written_by: user}, {held_by: session.mails}]}}
    limits: {equal: 3}
    result: {keep: [id, acct, total, tier], empty: none, max_bytes: 2000}
  ask:
    kind: read
    allow: [a]
    schema: {type: object, properties: {who: {type: string}}, required: [who]}
    http: {method: GET, url: "https://t.example.com/v1/{who}", query: {q: one}, headers: {X: one}, redirects: 1, hosts: [eu.example.com], networks: [10.20.0.0/16], max_bytes: 7000}
  post:
    kind: action
    allow: [a]
    schema: {type: object, properties: {title: {type: string}}, required: [title]}
    unknown: {blocks: tool}
    http: {method: POST, url: "https://t.example.com/v1", body: {t: "{title}"}}
    approve: never
  client:
    kind: read
    allow: [a]
    schema: {type: object, properties: {id: {type: string}}}
    trust: untrusted
    result:
      schema: {type: object, properties: {debt: {type: number}}}
      units: {debt: EUR}
      max_tokens: 4000
      drop: [secret]
      mask: {phone: last4}
      hash: [tax]
      handle: {mail: email}
      blocks: {text: drop, structured: keep, resources: drop, images: [image/png]}
      roles:
        boss: {drop: [note], mask: {name: initials}, hash: [ref], handle: {fax: phone}, blocks: {text: keep}, show: [tax]}
        chief: {keep: [id]}
  send:
    kind: action
    allow: [a]
    schema: {type: object, properties: {to: {type: string}, body: {type: string}}}
    handles: {to: email, body: email}
    masks: {body: allow}
    approve: never
  undo:
    kind: action
    allow: [a]
    schema: {type: object, properties: {id: {type: string}}}
    approve: {by: [chief]}
  hand_out:
    kind: action
    allow: [a]
    schema: {type: object, properties: {id: {type: string}}}
    effect: {compensate: undo}
    approve: never
  pay:
    kind: action
    allow: [a]
    schema:
      type: object
      properties: {id: {type: string}, amount: {type: number}, most: {type: number}, acct: {type: string}, by: {type: string}, note: {type: string}}
      required: [id, amount, acct]
    bind: {by: {from: session.principal, strict: true}}
    ground:
      id: {returned_by: find.id, latest: true, once: true, verified: true}
      amount: {at_least: find.total, same: [id]}
      most: {at_most: find.total, same: [id]}
      acct: {returned_by: find.acct, enforce: shadow}
      note: {any_of: [{written_by: user}, {held_by: session.notes}], enforce: shadow}
    after: [{tool: find, where: {tier: gold}, same: [id], latest: true, once: true, verified: true}, {tool: undo, enforce: shadow}]
    checks: [hours, {name: fraud, enforce: shadow}]
    resource: {client: id, owner: client_id}
    require: {amount: {exclusiveMinimum: 0}}
    refuse: [{when: {note: {pattern: ".*urgent.*"}}, say: Wait.}, {when: {amount: {minimum: 900}}, enforce: shadow}]
    limits:
      - {calls: 3, sum: amount, per: id, at_most: 500}
      - {sum: amount, at_most: find.total, same: [id]}
      - {calls: 30, per: 24h, of: id}
      - {calls: 20, per: 7d, enforce: shadow}
    ceilings: {arguments_bytes: 20000, arguments_depth: 9, arguments_items: 99}
    repeat: allow
    effect: {probe: {dedupes: true}}
    lease: 2m
    unknown: {blocks: target, target: [acct]}
    approve: [{when: {amount: {maximum: 50}}, by: self, expires: 1h, show: [id], assurance: client}, {by: [boss], need: 2, use_within: 15m, edit: [note], secret: [acct], effect: "Pay {amount}", escalate: {after: 12h, to: [chief]}, on_message: cancel, grants: [{scope: same_call, uses: 3, until: 1d}, {amount: amount, at_most: 40, sum: 90, same: [acct]}]}]
limits:
  turn: {calls: 16, whole: true, result_bytes: 400000, result_tokens: 50000}
  run: {steps: 8, calls: 20, seconds: 120, tokens: 1000, cost: 0.5, equal: 3}
  conversation: {calls: 200, tokens: 9000, cost: {at_most: 5, enforce: shadow}, result_bytes: 4000000, result_tokens: 500000}
  windows: [{calls: 1000, per: 1h, of: tenant}, {calls: 900, per: 2h, enforce: shadow}]
ceilings:
  {message_calls: 100, user_words: 500, result_bytes: 3000, result_depth: 30, result_items: 4000, result_text: 5000, open_approvals: 10, approval_expires: 7d, message_bytes: 6000, listed_tools: 70, arguments_bytes: 30000, arguments_depth: 20, arguments_items: 200}
prices: {m: {in: 2, out: 8}}
redact:
  region: [GB]
  seconds: 5
  detectors: {badge: {pattern: '[0-9]{5}', words: [badge], mask: '[badge]', check: luhn}}
people:
  ann: {principal: E1, tenant: acme, roles: [boss], attributes: {desk: 4}}
"""
EDITS: dict[str, tuple[str, str]] = {
    "file.tools": ("  undo:\n", "  undo_it:\n"),
    "file.limits": ("seconds: 120", "seconds: 121"),
    "file.ceilings": ("user_words: 500", "user_words: 501"),
    "file.prices": ("prices: {m:", "prices: {n:"),
    "file.people": ("  ann:", "  bob:"),
    "tool.kind": ("kind: read", "kind: compute"),
    "tool.description": ("Look up.", "Look it up."),
    "tool.schema": ("n: {type: integer}", "n: {type: number}"),
    "tool.allow": ("allow: [a]\n    schema: {type: object, properties: {email", "allow: [a, b]\n    schema: {type: object, properties: {email"),
    "tool.bind": ("    bind: {by: {from: session.principal, strict: true}}\n", ""),
    "tool.checks": ("[hours, ", "["),
    "tool.coerce": ("    coerce: lossless\n", ""),
    "tool.unwrap": ("    unwrap: true\n", ""),
    "tool.repeat": ("    repeat: allow\n", ""),
    "tool.timeout": ("timeout: 5s", "timeout: 6s"),
    "tool.effect": ("    effect: {probe: {dedupes: true}}\n", ""),
    "tool.lease": ("lease: 2m", "lease: 3m"),
    "tool.unknown": ("    unknown: {blocks: target, target: [acct]}\n", ""),
    "unknown.blocks": ("unknown: {blocks: tool}", "unknown: {blocks: call}"),
    "unknown.target": ("target: [acct]}", "target: [id]}"),
    "tool.ground": ("    ground: {email: {any_of: [{written_by: user}, {held_by: session.mails}]}}\n", ""),
    "tool.after": (", {tool: undo, enforce: shadow}]", ", {tool: hand_out}]"),
    "tool.resource": ("    resource: {client: id, owner: client_id}\n", ""),
    "tool.require": ("exclusiveMinimum: 0", "exclusiveMinimum: 1"),
    "tool.refuse": ("minimum: 900", "minimum: 800"),
    "tool.limits": ("limits: {equal: 3}", "limits: {equal: 4}"),
    "tool.ceilings": ("    ceilings: {arguments_bytes: 20000, arguments_depth: 9, arguments_items: 99}\n", ""),
    "tool.approve": ("{by: [boss], need", "{by: [chief], need"),
    "tool.result": ("    result: {keep: [id, acct, total, tier], empty: none, max_bytes: 2000}\n", ""),
    "tool.http": ('    http: {method: POST, url: "https://t.example.com/v1", body: {t: "{title}"}}\n', ""),
    "http.method": ("method: POST", "method: PUT"),
    "http.url": ("/v1/{who}", "/v2/{who}"),
    "http.query": ("q: one", "p: one"),
    "http.headers": ("X: one", "Y: one"),
    "http.body": ('body: {t: "{title}"}', 'body: {u: "{title}"}'),
    "http.redirects": ("redirects: 1", "redirects: 2"),
    "http.hosts": ("[eu.example.com]", "[us.example.com]"),
    "http.networks": ("10.20.0.0/16", "10.21.0.0/16"),
    "http.max_bytes": ("max_bytes: 7000", "max_bytes: 7001"),
    "tool.handles": ("handles: {to: email, body: email}", "handles: {to: email}"),
    "tool.masks": ("    masks: {body: allow}\n", ""),
    "result.drop": ("drop: [secret]", "drop: [other]"),
    "result.mask": ("{phone: last4}", "{phone: fixed}"),
    "result.hash": ("hash: [tax]", "hash: [tax, more]"),
    "result.handle": ("handle: {mail: email}", "handle: {mails: email}"),
    "result.blocks": ("      blocks: {text: drop, structured: keep, resources: drop, images: [image/png]}\n", ""),
    "result.roles": ("        chief: {keep: [id]}\n", ""),
    "role_result.keep": ("chief: {keep: [id]}", "chief: {keep: [id, ref]}"),
    "role_result.drop": ("drop: [note]", "drop: [notes]"),
    "role_result.mask": ("{name: initials}", "{name: fixed}"),
    "role_result.hash": ("hash: [ref]", "hash: [reference]"),
    "role_result.handle": ("handle: {fax: phone}", "handle: {faxes: phone}"),
    "role_result.blocks": ("blocks: {text: keep}, show", "blocks: {structured: drop}, show"),
    "role_result.show": ("show: [tax]", "show: [phone]"),
    "blocks.text": ("text: drop", "text: keep"),
    "blocks.structured": ("structured: keep", "structured: drop"),
    "blocks.resources": ("resources: drop", "resources: keep"),
    "blocks.images": ("images: [image/png]", "images: [image/jpeg]"),
    "tool.trust": ("    trust: untrusted\n", ""),
    "result.schema": ("{debt: {type: number}}", "{debt: {type: integer}}"),
    "result.units": ("units: {debt: EUR}", "units: {debt: USD}"),
    "result.max_tokens": ("max_tokens: 4000", "max_tokens: 4001"),
    "turn.result_bytes": ("result_bytes: 400000,", "result_bytes: 400001,"),
    "turn.result_tokens": ("result_tokens: 50000}", "result_tokens: 50001}"),
    "conversation.result_bytes": ("result_bytes: 4000000", "result_bytes: 4000001"),
    "conversation.result_tokens": ("result_tokens: 500000}", "result_tokens: 500001}"),
    "approval.need": ("need: 2", "need: 3"),
    "approval.use_within": ("use_within: 15m", "use_within: 16m"),
    "approval.edit": ("edit: [note]", "edit: [note, most]"),
    "approval.secret": ("secret: [acct], ", ""),
    "approval.effect": ('effect: "Pay {amount}"', 'effect: "Pay out {amount}"'),
    "approval.escalate": (", escalate: {after: 12h, to: [chief]}", ""),
    "escalate.after": ("after: 12h", "after: 11h"),
    "escalate.to": ("to: [chief]", "to: [chief, b]"),
    "approval.on_message": (", on_message: cancel", ""),
    "approval.assurance": (", assurance: client", ""),
    "file.redact": ("words: [badge]", "words: [badges]"),
    "redact.region": ("region: [GB]", "region: [FR]"),
    "redact.seconds": ("  seconds: 5\n", "  seconds: 6\n"),
    "redact.detectors": ("{badge: {pattern", "{badger: {pattern"),
    "detector.pattern": ("[0-9]{5}", "[0-9]{6}"),
    "detector.words": ("words: [badge]", "words: [badge, staff]"),
    "detector.mask": ("mask: '[badge]'", "mask: '[staff]'"),
    "detector.check": (", check: luhn", ""),
    "effect.probe": ("{probe: {dedupes: true}}", "once"),
    "effect.compensate": ("{compensate: undo}", "once"),
    "probe.dedupes": ("{probe: {dedupes: true}}", "probe"),
    "binding.from": ("from: session.principal", "from: session.tenant"),
    "binding.strict": ("strict: true", "strict: false"),
    "source.returned_by": ("returned_by: find.id", "returned_by: find.tier"),
    "source.at_most": ("most: {at_most: find.total", "most: {at_most: find.tier"),
    "source.at_least": ("at_least: find.total", "at_least: find.tier"),
    "source.written_by": ("email: {any_of: [{written_by: user}, {held_by: session.mails}]}", "email: {held_by: session.mails}"),
    "source.held_by": ("session.mails", "session.posts"),
    "source.same": ("{at_least: find.total, same: [id]}", "{at_least: find.total, same: [acct]}"),
    "source.latest": ("returned_by: find.id, latest: true", "returned_by: find.id"),
    "source.once": ("latest: true, once: true, verified: true}\n", "latest: true, verified: true}\n"),
    "source.verified": ("once: true, verified: true}\n", "once: true}\n"),
    "source.enforce": ("returned_by: find.acct, enforce: shadow", "returned_by: find.acct"),
    "any_of.any_of": ("any_of: [{written_by: user}, {held_by: session.mails}]", "any_of: [{written_by: user}]"),
    "any_of.enforce": ("{held_by: session.notes}], enforce: shadow", "{held_by: session.notes}]"),
    "after.tool": ("{tool: find, where: {tier: gold}", "{tool: undo, where: {tier: gold}"),
    "after.where": ("where: {tier: gold}", "where: {tier: silver}"),
    "after.same": ("gold}, same: [id]", "gold}, same: [acct]"),
    "after.latest": ("same: [id], latest: true, once", "same: [id], latest: false, once"),
    "after.once": ("latest: true, once: true, verified: true}, {tool", "latest: true, verified: true}, {tool"),
    "after.verified": ("once: true, verified: true}, {tool", "once: true}, {tool"),
    "after.enforce": ("{tool: undo, enforce: shadow}", "{tool: undo}"),
    "check.name": ("name: fraud", "name: fraude"),
    "check.enforce": ("{name: fraud, enforce: shadow}", "{name: fraud}"),
    "rule.when": ("{note: {pattern", "{acct: {pattern"),
    "rule.say": ("say: Wait.", "say: Stop."),
    "rule.enforce": ("{minimum: 900}}, enforce: shadow}", "{minimum: 900}}}"),
    "tool_limits.calls": ("- {calls: 3, sum", "- {calls: 4, sum"),
    "tool_limits.equal": ("    limits: {equal: 3}\n", ""),
    "tool_limits.sum": ("sum: amount, per: id", "sum: most, per: id"),
    "tool_limits.at_most": ("at_most: 500", "at_most: 600"),
    "tool_limits.same": ("{sum: amount, at_most: find.total, same: [id]}", "{sum: amount, at_most: find.total, same: [acct]}"),
    "tool_limits.per": ("per: 24h", "per: 25h"),
    "tool_limits.of": ("of: id", "of: acct"),
    "tool_limits.enforce": ("per: 7d, enforce: shadow", "per: 7d"),
    "tool_ceilings.arguments_bytes": ("{arguments_bytes: 20000", "{arguments_bytes: 20001"),
    "tool_ceilings.arguments_depth": ("arguments_depth: 9", "arguments_depth: 10"),
    "tool_ceilings.arguments_items": ("arguments_items: 99", "arguments_items: 98"),
    "approval.by": ("by: self, expires: 1h, show: [id], assurance: client}", "by: [chief], expires: 1h, show: [id]}"),
    "approval.when": ("maximum: 50", "maximum: 51"),
    "approval.expires": ("expires: 1h", "expires: 2h"),
    "approval.grants": ("grants: [{scope: same_call, uses: 3, until: 1d}, ", "grants: ["),
    "grant.scope": ("scope: same_call", "scope: tool_here"),
    "grant.amount": ("{amount: amount, at_most: 40", "{amount: most, at_most: 40"),
    "grant.at_most": ("at_most: 40,", "at_most: 41,"),
    "grant.sum": ("sum: 90", "sum: 91"),
    "grant.same": ("same: [acct]}]}]", "same: [id]}]}]"),
    "grant.uses": ("uses: 3", "uses: 4"),
    "grant.until": ("until: 1d", "until: 2d"),
    "approval.show": ("show: [id]", "show: [id, amount]"),
    "result.keep": ("keep: [id, acct, total, tier]", "keep: [id, acct, total]"),
    "result.empty": ("empty: none", "empty: nothing"),
    "result.max_bytes": ("max_bytes: 2000", "max_bytes: 2001"),
    "limits.turn": ("  turn: {calls: 16, whole: true, result_bytes: 400000, result_tokens: 50000}\n", ""),
    "limits.run": ("steps: 8", "steps: 9"),
    "limits.conversation": ("{calls: 200", "{calls: 201"),
    "limits.windows": ("  windows: [{calls: 1000, per: 1h, of: tenant}, {calls: 900, per: 2h, enforce: shadow}]\n", ""),
    "window.calls": ("calls: 1000", "calls: 1001"),
    "window.per": ("per: 1h", "per: 30m"),
    "window.of": ("of: tenant", "of: conversation"),
    "window.enforce": ("per: 2h, enforce: shadow", "per: 2h"),
    "count.at_most": ("{at_most: 5, enforce: shadow}", "{at_most: 5}"),
    "count.enforce": ("cost: {at_most: 5, enforce: shadow}", "cost: {at_most: 5}"),
    "turn.calls": ("calls: 16", "calls: 17"),
    "turn.whole": ("whole: true", "whole: false"),
    "run.steps": ("steps: 8", "steps: 7"),
    "run.calls": ("calls: 20, seconds", "calls: 21, seconds"),
    "run.seconds": ("seconds: 120", "seconds: 119"),
    "run.tokens": ("tokens: 1000,", "tokens: 1001,"),
    "run.cost": ("cost: 0.5", "cost: 0.6"),
    "run.equal": ("cost: 0.5, equal: 3", "cost: 0.5, equal: 4"),
    "conversation.calls": ("calls: 200", "calls: 199"),
    "conversation.tokens": ("tokens: 9000", "tokens: 9001"),
    "conversation.cost": ("cost: {at_most: 5, enforce: shadow}", "cost: 4"),
    "ceilings.arguments_bytes": ("arguments_bytes: 30000", "arguments_bytes: 30001"),
    "ceilings.arguments_depth": ("arguments_depth: 20,", "arguments_depth: 21,"),
    "ceilings.arguments_items": ("arguments_items: 200", "arguments_items: 201"),
    "ceilings.message_calls": ("message_calls: 100", "message_calls: 101"),
    "ceilings.user_words": ("user_words: 500", "user_words: 499"),
    "ceilings.result_bytes": ("result_bytes: 3000", "result_bytes: 3001"),
    "ceilings.result_depth": ("result_depth: 30", "result_depth: 29"),
    "ceilings.result_items": ("result_items: 4000", "result_items: 4001"),
    "ceilings.result_text": ("result_text: 5000", "result_text: 5001"),
    "ceilings.message_bytes": ("message_bytes: 6000", "message_bytes: 6001"),
    "ceilings.listed_tools": ("listed_tools: 70", "listed_tools: 71"),
    "ceilings.open_approvals": ("open_approvals: 10", "open_approvals: 11"),
    "ceilings.approval_expires": ("approval_expires: 7d", "approval_expires: 8d"),
    "price.in": ("in: 2", "in: 3"),
    "price.out": ("out: 8", "out: 9"),
    "person.principal": ("principal: E1", "principal: E2"),
    "person.tenant": ("tenant: acme", "tenant: globex"),
    "person.roles": ("roles: [boss]", "roles: [boss, chief]"),
    "person.attributes": ("desk: 4", "desk: 5"),
}  # fmt: skip
"""One edit for each key of each table of the language."""
