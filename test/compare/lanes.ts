/** Lanes of sessions that really ran, on a scripted model. */

import { jsonSchema, tool, type Tool } from "ai";
import { laneOf, type Lane } from "../../src/compare/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import type { Agent, Session } from "../../src/public/index.ts";
import { ask } from "../support/asking.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";

export interface Lookup {
  readonly description?: string;
  readonly type?: "string" | "integer";
  readonly execute?: (input: unknown) => unknown;
}

export function lookup({
  description = "Finds an order.",
  type = "integer",
  execute = () => ({ total: 6, items: ["pen"] }),
}: Lookup = {}): Tool {
  return tool({
    description,
    inputSchema: jsonSchema({ type: "object", properties: { order: { type } } }),
    execute,
  });
}

export const refund = tool({
  description: "Pays back.",
  inputSchema: jsonSchema({ type: "object" }),
  execute: () => "Paid.",
});

type Script = readonly ScriptedStep[];

/** It looks an order up, and then once more in a second turn. */
export const usual: Script = [
  calling(call("lookup", "a", { order: 16, of: { shop: 1 } })),
  "It is 6.",
  calling(call("lookup", "b", { order: 17 }), call("refund", "c", { order: 17 })),
  "It is paid back.",
];

export interface Played extends Partial<Omit<Agent, "model">> {
  readonly script?: Script;
  readonly modelId?: string;
  readonly messages?: readonly string[];
  /** After the messages. */
  readonly after?: (session: Session) => Promise<void>;
}

export async function lane(played: Played = {}): Promise<Lane> {
  const {
    script = usual,
    messages = ["What is order 16?", "Pay order 17 back."],
    modelId = "scripted",
    after,
    ...agent
  } = played;
  const model = { ...scriptedModel(script), modelId };
  await using open = await openSession({
    model,
    instructions: "You help.\nBe brief.\nBe kind.",
    tools: { lookup: lookup(), refund },
    ...agent,
  });
  // A turn may fail.
  for (const message of messages) await Promise.allSettled([ask(open.session, message)]);
  await after?.(open.session);
  const prices = { input: 3, output: 15 };
  return laneOf("s", await open.events(), { overrides: { [modelId]: { prices } } });
}
