// A loop in JavaScript with nothing but fetch: guard decides in its own process, the tools run here.
//
//     guard serve token add node-loop                      # once; prints the token
//     guard serve --policy examples/sidecar/policies       # in another terminal
//     GUARD_TOKEN=… OPENAI_API_KEY=… node examples/sidecar_node.mjs
//
// GUARD_URL, OPENAI_BASE_URL and MODEL point it elsewhere.

const GUARD = process.env.GUARD_URL ?? "http://127.0.0.1:8710/api/v1";
const MODELS = process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1";
const session = { principal: "c_123", roles: ["customer"] }; // from your own sign-in, never from the model
const conversation = `example-${Date.now()}`;

const orders = { A17: { order_id: "A17", customer_id: "c_123", status: "delivered", total: 120, phone: "+49 151 23456789" } };
const tools = {
  order_status: ({ order_id, customer_id }) => (orders[order_id]?.customer_id === customer_id ? orders[order_id] : null),
  refund: ({ order_id, amount }) => ({ refund_id: "R-1", order_id, amount }),
};

async function post(url, body, token) {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

const guard = (verb, body) => post(`${GUARD}/${verb}`, body, process.env.GUARD_TOKEN);

// One proposed call: decided, run where it is allowed, reported. `words` is what the model wrote beside it, for whoever
// is asked about it. Gives what goes back to the model.
async function run(call, words) {
  const proposed = { id: call.id, tool: call.function.name, arguments: call.function.arguments };
  const decided = await guard("decide", { session, conversation, call: proposed, words });
  if (decided.decision !== "allow") return decided;
  const signal = AbortSignal.timeout(decided.timeout * 1000); // a tool that is slower than its time-out is given up there, too
  let report;
  try {
    const result = await tools[proposed.tool](decided.arguments, { key: decided.idempotency_key, signal });
    report = { status: "done", result };
  } catch {
    report = { status: signal.aborted ? "unknown" : "failed" }; // what was cut off may have taken effect
  }
  return guard("report", { ticket: decided.ticket, ...report });
}

const question = "Order A17 arrived broken. Please refund 40.";
await guard("said", { session, conversation, text: question });
const offered = (await guard("tools", { session })).tools;
const messages = [{ role: "user", content: question }];
for (;;) {
  const body = { model: process.env.MODEL ?? "gpt-5", messages, tools: offered };
  const reply = (await post(`${MODELS}/chat/completions`, body, process.env.OPENAI_API_KEY)).choices[0].message;
  messages.push(reply);
  if (!reply.tool_calls?.length) {
    console.log(reply.content);
    break;
  }
  for (const call of reply.tool_calls) {
    const outcome = await run(call, reply.content ?? "");
    console.log(`${outcome.tool}: ${outcome.status}${outcome.reason ? ` (${outcome.reason})` : ""}`);
    messages.push({ role: "tool", tool_call_id: call.id, content: outcome.content });
  }
}
