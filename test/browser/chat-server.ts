/**
 * The server of the browser's tests, a process that they kill: `node chat-server.mjs <store> <port>`. Its
 * model does what the last message says, word by word, so that a turn continues as before after a restart.
 */

import type { LanguageModelV4Message } from "@ai-sdk/provider";
import { tool } from "ai";
import { z } from "zod";
import { createRuntime, type Agent } from "../../src/public/index.ts";
import { openPostgresLog } from "../../src/public/postgres.ts";
import { serveNode } from "../../src/public/server.ts";
import { scriptedModel } from "../../src/public/testing.ts";
import type { ScriptedStep } from "../../src/models/index.ts";

const WORD_MS = 4;

/** A gate that opens by itself. */
const pause = (ms: number) =>
  ({
    type: "gate",
    until: {
      // oxlint-disable-next-line unicorn/no-thenable
      then: <Result>(open: (value: unknown) => Result | PromiseLike<Result>) =>
        new Promise<void>((resolve) => setTimeout(resolve, ms)).then(open),
    } as PromiseLike<unknown>,
  }) as const;

function words(count: number): ScriptedStep {
  const deltas = Array.from({ length: count }, (_, index) => [`w${index} `, pause(WORD_MS)]).flat();
  return {
    parts: [
      { type: "reasoning", deltas: ["Let me ", pause(WORD_MS), "count."] },
      { type: "text", deltas },
    ],
  };
}

function calling(toolName: string, input: object, turn: number): ScriptedStep {
  const toolCallId = `${toolName}-${turn}`;
  return { parts: [{ type: "tool-call", toolCallId, toolName, input: { ...input } }] };
}

/** The words of a user's message; empty for what the runtime adds in the user's role. */
function textOf(content: Extract<LanguageModelV4Message, { role: "user" }>["content"]): string {
  const texts = content.map((part) => (part.type === "text" ? part.text : `<${part.type}>`));
  return texts[0]?.startsWith("[Your reply") === true ? "" : texts.join(" ");
}

const model = scriptedModel(({ prompt }) => {
  const said = prompt.map(({ role, content }) => (role === "user" ? textOf(content) : ""));
  const asked = said.findLastIndex((one) => one !== "");
  const text = said[asked] ?? "";
  const results = prompt
    .slice(asked)
    .flatMap(({ role, content }) =>
      role === "tool"
        ? content.flatMap((part) =>
            part.type === "tool-result" ? [JSON.stringify(part.output)] : [],
          )
        : [],
    );
  const last = results.at(-1);
  if (last !== undefined) return `The result is ${last}.`;
  const [verb = "", object = ""] = text.split(" ");
  if (verb === "tell") return words(Number(object));
  if (verb === "pay" || verb === "work" || verb === "colour")
    return calling(verb, verb === "pay" ? { amount: Number(object) } : {}, asked);
  return `You said: ${text}`;
});

const agent: Agent = {
  model,
  tools: {
    pay: tool({
      inputSchema: z.object({ amount: z.number() }),
      execute: ({ amount }) => `paid ${amount}`,
    }),
    work: tool({
      inputSchema: z.object({}),
      execute: async () => {
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        return "worked";
      },
    }),
    colour: tool({ inputSchema: z.object({}), outputSchema: z.string() }),
  },
  toolApproval: { pay: "user-approval" },
  toolPolicies: { pay: { idempotent: true }, work: { idempotent: true } },
};

/** A folder, or the address of a database. */
const [, , store = "", port = "0"] = process.argv;
const settings = { agent, recovery: "continue", maxRecoveries: 100 } as const;
const runtime = await (store.startsWith("postgres:")
  ? createRuntime({
      ...settings,
      log: await openPostgresLog({ connectionString: store, leaseMs: 2000 }),
    })
  : createRuntime({ ...settings, dir: store }));
/** The tabs that are not let in, as the parent says. */
let shut: readonly string[] = [];
const server = await serveNode(runtime, {
  port: Number(port),
  token: "token",
  authorize: ({ headers }) => {
    const [, actor, tenant] = /tab=((\w+)\.\d)/.exec(headers.get("cookie") ?? "") ?? [];
    if (actor === undefined || tenant === undefined) return { audience: "operator" };
    return shut.includes(actor) ? undefined : { actor, tenant };
  },
});
process.on("message", (tabs) => {
  shut = z.array(z.string()).parse(tabs);
  for (const actor of shut) void server.revoke({ actor });
});
process.send?.({ port: server.port });
