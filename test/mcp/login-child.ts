/**
 * `node login-child.ts <store> <tokens> <url> <recovery> <saves>`: a turn whose call needs a login. It prints the address that a
 * person has to open, reads the queries of callbacks, and prints what the turn ends with. It dies in that save of the
 * tokens, by turns before and after it.
 */

import { createInterface } from "node:readline";
import { z } from "zod";
import { createRuntime, folderKeys } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/public/testing.ts";
import { call, calling } from "../support/script.ts";

const [dir = "", tokens = "", url = "", recovery, saves] = process.argv.slice(2);
const kept = folderKeys(tokens);
let left = Number(saves);
const dies = (): void => {
  if (--left === 0) process.kill(process.pid, "SIGKILL");
};
const login = {
  redirectUrl: "http://127.0.0.1:9/callback",
  tokens: {
    load: kept.load.bind(kept),
    save: async (...given: Parameters<typeof kept.save>) => {
      dies();
      await kept.save(...given);
      dies();
    },
  },
};
const model = scriptedModel(({ prompt }) =>
  prompt.at(-1)?.role === "tool" ? JSON.stringify(prompt.at(-1)) : calling(call("own__login", "c")),
);
await using runtime = await createRuntime({
  dir,
  recovery: z.enum(["stop", "continue"]).parse(recovery),
  durability: "os",
  agent: { model },
  mcp: { own: { url, login } },
});
const say = (said: object): void => void process.stdout.write(`${JSON.stringify(said)}\n`);
const session = await runtime.session("s");
const { summary } = await session.view();
const turn = summary.turns === 0 ? await session.send("Go.", { id: "m" }) : await session.turn("m");
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const finished = runtime.finishLogin(new URLSearchParams(line));
  finished.catch((error: unknown) => say({ error: String(error) }));
});
for await (const { type, data } of turn)
  if (type === "tool.approval-requested" && data.question?.kind === "login-required")
    say({ open: data.question.url });
say({ text: (await turn.result).text });
lines.close();
