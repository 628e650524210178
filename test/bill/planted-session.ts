/**
 * Sessions whose prompts are broken in one way, sent through a real client to a provider that bills by its
 * published rules of caching.
 */

import type { JSONSchema7 } from "@ai-sdk/provider";
import { jsonSchema, tool } from "ai";
import { scriptedModel } from "../../src/models/index.ts";
import { dropOldest, manual, unsentMessages } from "../../src/context/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { openMemoryLog, type Agent } from "../../src/public/index.ts";
import { billedClient } from "../providers/billed-client.ts";
import type { CachingProvider } from "../providers/billing.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";

export const breaks = [
  "none",
  "tools",
  "instructions",
  "edit",
  "expired",
  "pruning",
  "compaction",
  "model",
] as const;
/**
 * `definition`: a deployment changes that of one tool; `reasoning`: in replies of a provider that does not get it again after their turn; `settings`: others, which leave
 * the cache as it is by the published rules.
 */
type Break = (typeof breaks)[number] | "definition" | "reasoning" | "settings";

export interface Plan {
  readonly provider: CachingProvider;
  readonly what: Break;
  /** The length of the result of each call, in tokens of four characters, by turn. */
  readonly turns: readonly (readonly number[])[];
  /** The turn before which the prompt is broken, from 0. */
  readonly at: number;
  readonly promptCache?: "auto" | "off";
}

const SECOND = 1000;
const HOUR = 3_600 * SECOND;
const words = (tokens: number, of: string): string =>
  `${of} `.repeat(2 * tokens).slice(0, tokens * 4);
const schema: JSONSchema7 = { type: "object" };

/** The events of such a session. */
export async function plantedSession({
  provider,
  what,
  turns,
  at,
  promptCache = "auto",
}: Plan): Promise<readonly SessionEvent[]> {
  let now = Date.UTC(2026, 0);
  let isBroken = false;
  const clock = (): number => now;
  const tick = (): number => (now += SECOND * 20);
  const script = scriptedModel(
    turns.flatMap((results, turn) => [
      ...results.map((_, index) =>
        calling(
          ...(what === "reasoning"
            ? [{ type: "reasoning", deltas: [words(50, "hm")] } as const]
            : []),
          call("look", `${turn}.${index}`, {}),
        ),
      ),
      "Done.",
    ]),
  );
  const lengths = turns.flat();
  const look = tool({
    description: words(1200, "look"),
    inputSchema: jsonSchema(schema),
    execute: () => words(lengths.shift() ?? 0, `r${lengths.length}`),
  });
  const finding = (word: string) =>
    tool({
      description: words(1200, word),
      inputSchema: jsonSchema(schema),
      execute: () => "",
    });
  const model = billedClient(provider, tick, true).model(script);
  const small = { ...billedClient(provider, tick, true).model(script), modelId: other[provider] };
  const agent: Agent = {
    model,
    promptCache,
    instructions: words(1500, "rule"),
    tools: { look, find: finding("find") },
    loopGuard: false,
    prepareStep: ({ messages }) => {
      if (!isBroken) return {};
      switch (what) {
        case "instructions":
          return { instructions: `It is ${now}. ${words(1500, "rule")}` };
        case "edit":
          return {
            messages: [{ role: "user", content: "Begin otherwise." }, ...messages.slice(1)],
          };
        case "model":
          return { model: small };
        case "settings":
          return { toolChoice: "auto" };
        case "tools":
          return { toolOrder: ["find", "look"] };
        default:
          return {};
      }
    },
    context: {
      compact: { when: manual(), how: unsentMessages },
      ...(what === "pruning"
        ? {
            prune: { protectTokens: 2000, minimumGain: 500 },
            // It looks cold, and is not.
            limits: { [model.modelId]: { cacheLifetimeMs: 1 } },
          }
        : {}),
    },
  };
  const log = await openMemoryLog();
  const options = { clock, log };
  let open = await openSession(agent, options);
  for (const index of turns.keys()) {
    isBroken = index >= at;
    if (what === "expired" && index === at) now += 3 * HOUR;
    if (what === "compaction" && index === at)
      await open.session.compact(dropOldest({ keepTurns: 1 }));
    if (what === "definition" && index === at) {
      await open[Symbol.asyncDispose]();
      open = await openSession({ ...agent, tools: { look, find: finding("seek") } }, options);
    }
    const turn = await open.session.send(`Question ${index}.`);
    await turn.result;
  }
  const events = await open.events();
  await open[Symbol.asyncDispose]();
  return events;
}

const other: Readonly<Record<CachingProvider, string>> = {
  anthropic: "claude-sonnet-4",
  openai: "gpt-5-mini",
  google: "gemini-2.5-flash",
  deepseek: "deepseek-v3",
};
