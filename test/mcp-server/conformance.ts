/** The methods of the protocol, and what becomes of each by revision. `docs/mcp-server.md` has the same table. */

import type { Revision } from "./connected.ts";

export type Outcome =
  | "works"
  | "not offered"
  | `refused (${number})`
  | "an error that the model reads";

export interface Row {
  /** As the table of the guide has it. */
  readonly what: string;
  readonly method: string;
  readonly params: object;
  readonly outcome: Readonly<Record<Revision, Outcome>>;
}

const both = (outcome: Outcome): Row["outcome"] => ({
  "2026-07-28": outcome,
  "2025-11-25": outcome,
});
const since = (newest: Outcome, before: Outcome): Row["outcome"] => ({
  "2026-07-28": newest,
  "2025-11-25": before,
});

function row(method: string, params: object, outcome: Row["outcome"], about = ""): Row {
  return { what: `\`${method}\`${about}`, method, params, outcome };
}

const call = (input: object, name = "agent"): object => ({ name, arguments: input });
const read = (uri: string): object => ({ uri });
const clientInfo = { name: "test", version: "1.0.0" };

/** The store has the session `s-1`. */
export const rows: readonly Row[] = [
  row("server/discover", {}, since("works", "not offered")),
  row(
    "initialize",
    { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
    since("not offered", "works"),
  ),
  row("ping", {}, since("not offered", "works")),
  row("tools/list", {}, both("works")),
  row("tools/call", call({ message: "Hi" }), both("works")),
  row("tools/call", call({}, "other"), both("refused (-32602)"), " of another tool"),
  row(
    "tools/call",
    call({ message: 3 }),
    both("an error that the model reads"),
    " with a wrong input",
  ),
  row(
    "tools/call",
    call({ session: "none", message: "Hi" }),
    both("an error that the model reads"),
    " in a session that the client may not see",
  ),
  row("resources/list", {}, both("works")),
  row("resources/list", { cursor: "x" }, both("refused (-32602)"), " with a wrong cursor"),
  row("resources/templates/list", {}, both("works")),
  row("resources/read", read("turnlog://sessions/s-1"), both("works")),
  row(
    "resources/read",
    read("turnlog://sessions/none"),
    both("refused (-32602)"),
    " of a session that the client may not see",
  ),
  row("resources/read", read("file:///etc/passwd"), both("refused (-32602)"), " of anything else"),
  ...["resources/subscribe", "resources/unsubscribe"].map((method) =>
    row(method, read("turnlog://sessions/s-1"), both("not offered")),
  ),
  row("prompts/list", {}, both("not offered")),
  row("prompts/get", { name: "a" }, both("not offered")),
  row(
    "completion/complete",
    { ref: { type: "ref/prompt", name: "a" }, argument: { name: "a", value: "" } },
    both("not offered"),
  ),
  row("logging/setLevel", { level: "info" }, both("not offered")),
  row("tasks/list", {}, both("not offered")),
];
