/** The agent of the demo: tools that answer from a table, a model that follows a script, and the words of such scripts. */

import { tool } from "ai";
import { z } from "zod";
import type { Agent } from "../../agent/index.ts";
import { manual, slidingWindow } from "../../public/index.ts";
import { scriptedModel, type ScriptedStep } from "../../models/index.ts";

const files: Readonly<Record<string, string>> = {
  "src/queue.ts": `export class Queue {
  #jobs: Job[] = [];
  #timer?: NodeJS.Timeout;

  push(job: Job): void {
    this.#jobs.push(job);
    this.#timer ??= setTimeout(() => this.#flush(), 5);
  }

  async #flush(): Promise<void> {
    const jobs = this.#jobs;
    await this.sink.write(jobs);
    this.#jobs = [];
    this.#timer = undefined;
  }
}`,
  "test/queue.test.ts": `it("keeps jobs that come during a flush", async () => {
  queue.push(one);
  await sleep(6);
  queue.push(two);
  await sleep(20);
  expect(sink.written).toEqual([one, two]);
});`,
};

const run = (command: string): string =>
  command.includes("--repeat")
    ? "40 runs, 40 passed (6.2 s)"
    : "FAIL test/queue.test.ts > keeps jobs that come during a flush\nexpected [ one ] to deeply equal [ one, two ]\n1 failed, 11 passed";

const tools: NonNullable<Agent["tools"]> = {
  read_file: tool({
    description: "Reads a file.",
    inputSchema: z.object({ path: z.string() }),
    execute: ({ path }) => {
      const found = files[path];
      if (found === undefined) throw new Error(`There is no file ${path}.`);
      return found;
    },
  }),
  search: tool({
    description: "Searches the project.",
    inputSchema: z.object({ query: z.string() }),
    execute: ({ query }) => [
      {
        path: "src/queue.ts",
        line: 9,
        text: `this.#timer ??= setTimeout(() => this.#flush(), 5);`,
      },
      { path: "test/queue.test.ts", line: 1, text: `// ${query}` },
    ],
  }),
  edit_file: tool({
    description: "Replaces a text in a file.",
    inputSchema: z.object({ path: z.string(), find: z.string(), replace: z.string() }),
    execute: ({ path }) => `${path}: 1 replacement`,
  }),
  run_tests: tool({
    description: "Runs the tests.",
    inputSchema: z.object({ command: z.string() }),
    execute: ({ command }) => run(command),
  }),
  find_order: tool({
    description: "Finds an order.",
    inputSchema: z.object({ order: z.string() }),
    execute: ({ order }) => ({
      order,
      customer: "Ada Byron",
      items: [{ name: "Brass gear, 40 teeth", price: 18.5, count: 4 }],
      total: 74,
      delivered: "2026-03-02",
    }),
  }),
  refund: tool({
    description: "Pays an amount back.",
    inputSchema: z.object({ order: z.string(), amount: z.number() }),
    execute: ({ amount }) => ({ refunded: amount, reference: "RF-20931" }),
  }),
  send_mail: tool({
    description: "Sends a mail.",
    inputSchema: z.object({ to: z.string(), text: z.string() }),
    execute: ({ to }) => `sent to ${to}`,
  }),
  query_sales: tool({
    description: "Sums sales.",
    inputSchema: z.object({ region: z.string() }),
    execute: ({ region }) => ({
      region,
      orders: 412 + region.length * 7,
      revenue: 98_200 + region.length * 311,
    }),
  }),
};

/** The agent that plays a script. */
export function scriptedAgent(steps: readonly ScriptedStep[]): Agent {
  return agentWith(scriptedModel(steps));
}

/** The agent that a visitor talks to after the demo: it says that it is scripted. */
export function demoAgent(): Agent {
  return agentWith(
    scriptedModel(() =>
      step(
        2_400,
        said(
          "This is the demo, and I am a scripted model: I give the same answer to everything. Start the studio with `--agent <module>` to talk to a model of your own.",
        ),
      ),
    ),
  );
}

function agentWith(model: ReturnType<typeof scriptedModel>): Agent {
  return {
    instructions: "You help with code, orders and reports. Answer briefly.",
    model: { ...model, provider: "anthropic", modelId: "claude-sonnet-4-5" },
    tools,
    toolApproval: { refund: "user-approval", send_mail: "user-approval" },
    toolPolicies: { query_sales: { idempotent: true } },
    maxRetries: 2,
    context: { prune: false, compact: { when: manual(), how: slidingWindow({ tokens: 250 }) } },
  };
}

// The words of scripts.

type Parts = NonNullable<Exclude<ScriptedStep, string>["parts"]>;
type Part = Parts[number];

/** A text as a model streams it: a word or two at a time. */
function deltas(text: string): readonly string[] {
  return text.match(/\s*\S+(?:\s+\S{1,3}(?=\s))?/gu) ?? [text];
}

export const thought = (text: string): Part => ({ type: "reasoning", deltas: deltas(text) });
export const said = (text: string): Part => ({ type: "text", deltas: deltas(text) });

let calls = 0;

export function called(toolName: string, input: object): Part {
  calls++;
  return {
    type: "tool-call",
    toolCallId: `call_${String(calls).padStart(3, "0")}`,
    toolName,
    input,
  };
}

function textOf(deltas: readonly unknown[]): string {
  return deltas.filter((delta) => typeof delta === "string").join("");
}

/** A step whose bill reads most of its prompt from the cache. */
export function step(inputTokens: number, ...parts: readonly Part[]): ScriptedStep {
  const texts = parts.map((part) => ("deltas" in part ? textOf(part.deltas ?? []) : ""));
  const written = Math.ceil(texts.join("").length / 3.6) + 22 * parts.length;
  const thoughts = parts.map((part, index) =>
    part.type === "reasoning" ? (texts[index] ?? "") : "",
  );
  const reasoning = Math.ceil(thoughts.join("").length / 3.6);
  const cached = Math.floor((inputTokens * 0.82) / 128) * 128;
  return {
    parts,
    usage: {
      inputTokens: {
        total: inputTokens,
        noCache: inputTokens - cached,
        cacheRead: cached,
        cacheWrite: 0,
      },
      outputTokens: { total: written, text: written - reasoning, reasoning },
    },
  };
}
