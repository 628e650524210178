/**
 * A server that is killed: `server-child.ts <dir> <port>`. Its model counts to twenty, from where the conversation
 * is. The first one stops in the middle of a word.
 */

import { createRuntime } from "../../src/public/index.ts";
import { serveNode } from "../../src/public/server.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";

const [dir = "", port = "0"] = process.argv.slice(2);
const whole = Array.from({ length: 20 }, (_, index) => `w${index} `).join("");
const model = scriptedModel(({ prompt }) => {
  const said = prompt.flatMap(({ role, content }) =>
    role === "assistant" ? content.map((part) => (part.type === "text" ? part.text : "")) : [],
  );
  const rest = whole.slice(said.join("").length).match(/../g) ?? [];
  const deltas = rest.length * 2 === whole.length ? [...rest.slice(0, 11), gate()] : rest;
  return {
    parts: [
      { type: "reasoning", deltas: ["Let me ", "count."] },
      { type: "text", deltas },
    ],
  };
});
const runtime = await createRuntime({ dir, agent: { model }, recovery: "continue" });
const server = await serveNode(runtime, { port: Number(port), token: "secret" });
process.send?.(server.url);
