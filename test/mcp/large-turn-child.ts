/**
 * `node large-turn-child.ts <store> <characters>`: a turn whose tool answers with that much text, in a
 * process whose heap may be limited. It follows the turn, as a chat does.
 */

import { createRuntime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/public/testing.ts";
import { ownServer } from "./own-servers.ts";

const [path = "", characters = ""] = process.argv.slice(2);
const input = { characters: Number(characters), plain: true };
const model = scriptedModel([
  { parts: [{ type: "tool-call", toolName: "own__huge", toolCallId: "c", input }] },
  "Done.",
]);
await using runtime = await createRuntime({
  dir: path,
  durability: "os",
  agent: { model },
  mcp: { own: ownServer({ path }) },
});
const turn = await (await runtime.session("s")).send("Go.");
let answered = 0;
for await (const { type } of turn) if (type === "tool.succeeded") answered += 1;
if (answered !== 1) throw new Error(`The tool answered ${answered} times.`);
