/** What a service keeps of its agents: named agents, metadata, messages for later, sub-agents, branches, waiting clients. */

import { Output, tool } from "ai";
import { z } from "zod";
import {
  agentTool,
  createRuntime,
  defineEvents,
  type Agent,
  type Runtime,
  type Session,
} from "../../src/public/index.ts";
import { gate, scriptedModel, type Script, type ScriptedStep } from "../../src/models/index.ts";
import { ask } from "../support/asking.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import type { StoreGround } from "./store-sessions.ts";

/** The clock of these sessions does not move, so that later messages still wait when their process dies. */
const NOW = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;

/** The stored position of the consumer `mirror`. */
export const consumed = 100;

/** The types are on record in the stores: later releases must read them. */
export const serviceEvents = defineEvents({
  "app.ticket-opened": z.object({ ticket: z.string(), urgent: z.boolean().default(false) }),
});

const trip = Output.object({ schema: z.object({ city: z.string(), days: z.number() }) });

/** Calls no tool again after its result. */
function once(step: ScriptedStep, end: string): Script {
  return ({ prompt }) => (prompt.at(-1)?.role === "tool" ? end : step);
}

const page = tool({ inputSchema: z.object({}), execute: () => "what the page says" });
const pay = tool({ inputSchema: z.object({ sum: z.number() }), execute: () => "paid" });

function helper(script: Script): Agent {
  return {
    instructions: "You help.",
    model: scriptedModel(script),
    tools: { page, pay },
    toolPolicies: { page: { idempotent: true } },
    toolApproval: { pay: "user-approval" },
  };
}

/** The agents of the sessions here, and of those that go on with them later. */
export function serviceAgents(script: Script, help: Script = () => "Helped."): ServiceAgents {
  const tools = {
    help: agentTool({ agent: helper(help), description: "Helps." }),
    locate: tool({ inputSchema: z.object({}), outputSchema: z.string() }),
    pay,
  };
  const model = scriptedModel(script);
  const context = { limits: { scripted: { contextWindow: 8000, maxOutputTokens: 500 } } };
  return {
    support: { model, instructions: "You support.", tools, context },
    coder: { model, instructions: "You write code.", tools, context },
  };
}

type ServiceAgents = Readonly<Record<"support" | "coder", Agent>>;

function open(
  { log, keys }: StoreGround,
  agents: ServiceAgents,
  tokens = 1_000_000,
): Promise<Runtime> {
  return createRuntime({
    ...(keys === undefined ? {} : { encryption: { keys } }),
    log,
    agents,
    events: serviceEvents,
    indexed: ["tenant"],
    limits: { session: { tokens } },
    graceMs: 1,
    testing: { clock: () => NOW },
  });
}

const support = { agent: "support", metadata: { tenant: "t-1" } } as const;

/** Sessions at rest. */
export async function playService(ground: StoreGround): Promise<void> {
  await playNoted(ground);
  await playBranches(ground);
  await playPrepared(ground);
  await using runtime = await open(
    ground,
    serviceAgents(
      once(calling(call("help", "1", { task: "Find it." })), "Found."),
      once(calling(call("page", "1")), "Here it is."),
    ),
  );
  await ask(await runtime.session("delegated", support), "Find it.");
}

/** Metadata that changed, another agent, events of the program, a typed reply, and a limit of spending. */
async function playNoted(ground: StoreGround): Promise<void> {
  const usage = {
    inputTokens: { total: 1000, noCache: 1000, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 100, text: 100, reasoning: 0 },
  };
  const script = (): ScriptedStep => ({ ...saying('{"city":"Ulm",', '"days":2}'), usage });
  await using runtime = await open(ground, serviceAgents(script), 2500);
  const session = await runtime.session("noted", support);
  await session.append("app.ticket-opened", { ticket: "T-1" }, { id: "opened" });
  await (
    await session.send("Where to?", { output: trip, by: "ann" })
  ).result;
  await session.setMetadata({ tenant: "t-2", topic: "travel" });
  await session.configure({ agent: "coder" });
  await ask(session, "And then?");
  await ask(session, "This is too much.");
}

/** An edit, a reply made again, a rewind that tells, and a checkout. */
async function playBranches(ground: StoreGround): Promise<void> {
  const script: Script = once(calling(call("pay", "1", { sum: 5 })), "Paid.");
  await using runtime = await open(ground, serviceAgents(script));
  const session = await runtime.session("branches", support);
  await ask(session, "Pay five.", "first");
  await (
    await session.send("Pay six.", { replaces: "first", by: "ann" })
  ).result;
  await (
    await session.regenerate({ by: "ann" })
  ).result;
  await session.rewind({ beforeTurn: 3, tell: true, by: "ann" });
  await ask(session, "Pay seven.");
  const [, edited] = await session.branches();
  await session.checkout(edited?.id ?? 0);
}

/** Steps whose prompt the agent changed. */
async function playPrepared(ground: StoreGround): Promise<void> {
  const agents = serviceAgents(once(calling(call("pay", "1", { sum: 1 })), "Paid."));
  const prepareStep: Agent["prepareStep"] = ({ messages, stepNumber }) =>
    stepNumber === 0
      ? { messages: [...messages.slice(-1), { role: "user", content: "Mind the cost." }] }
      : {};
  await using runtime = await open(ground, {
    ...agents,
    support: { ...agents.support, prepareStep },
  });
  const session = await runtime.session("prepared", support);
  for (const text of ["Pay one.", "Pay another."]) await ask(session, text);
}

/** A consumer that has handled some of the events when its process dies. */
export async function playConsumed(ground: StoreGround): Promise<void> {
  await using runtime = await open(
    ground,
    serviceAgents(() => "Done."),
  );
  const stop = new AbortController();
  const handler = ({ position }: { readonly position: number }): void => {
    if (position === consumed) stop.abort();
  };
  await using consumer = await runtime.consume("mirror", handler, { signal: stop.signal });
  await consumer.done;
}

/** Sessions that wait or run when their process dies. Resolves when all of them are there. */
export async function playServiceToTheDeath(ground: StoreGround): Promise<void> {
  const at = async (id: string, script: Script, help?: Script): Promise<Session> =>
    await (await open(ground, serviceAgents(script, help))).session(id, support);

  const later = await at("later", () => "Done.");
  const inDays = (days: number): Date => new Date(NOW + days * DAY);
  await later.send("Second.", { id: "second", notBefore: inDays(2) });
  await later.send("First.", { id: "first", notBefore: inDays(1) });
  await later.send("Never yet.", { id: "far", notBefore: inDays(365_000) });

  const locating = await at("locating", once(calling(call("locate", "1")), "There."));
  await locating.send("Where am I?");
  await seen(locating, "tool.output-requested");

  const helping = call("help", "1", { task: "Pay." });
  const asked = await at(
    "delegated-asking",
    once(calling(helping), "Paid."),
    once(calling(call("pay", "1", { sum: 9 })), "It is paid."),
  );
  await asked.send("Pay nine.");
  await childOf(asked, "tool.approval-requested");

  const reading = gate();
  const read = await at("delegated-killed", once(calling(helping), "Read."), [
    saying("I ", "read ", reading),
  ]);
  await read.send("Read it.");
  await reading.reached;
  await childOf(read, "part.text-delta");

  const again = gate();
  const regenerated = await at("killed-regenerating", ["One way.", saying("Another ", again)]);
  await ask(regenerated, "Say it.");
  await regenerated.regenerate();
  await again.reached;
  await seen(regenerated, "part.text-delta", ({ text }) => text === "Another ");
}

/** Waits for an event of the session that runs a call. */
async function childOf(
  session: Session,
  type: "tool.approval-requested" | "part.text-delta",
): Promise<void> {
  await seen(session, "tool.started");
  const { toolCalls } = await session.view();
  const [child = ""] = toolCalls.flatMap(({ child: one }) => one ?? []);
  for await (const event of session.events({ subAgent: child })) if (event.type === type) return;
}
