/** The values that a session hands out are not its memory: a change of them changes neither the session nor another runtime. */

import { jsonSchema, tool, wrapLanguageModel, type LanguageModelMiddleware } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  openMemoryLog,
  type Agent,
  type CompactionStrategy,
  type EventLog,
  type SessionEvent,
} from "../../src/public/index.ts";
import { modelMedia } from "../../src/context/index.ts";
import { spending, usage } from "../../src/projections/index.ts";
import { stateAt } from "../../src/state/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { spoil } from "../support/spoil.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";
import { eventually } from "../support/eventually.ts";

const steps: readonly ScriptedStep[] = [
  calling(call("look", "a", { at: { depth: [1, 2] } }), call("look", "b", { at: { depth: [] } })),
  "Seen.",
];

const look = tool({
  inputSchema: z.object({ at: z.object({ depth: z.array(z.number()) }) }),
  execute: ({ at }) => ({ found: [{ at }], text: "something" }),
});

const limits = { "turnlog:scripted": { contextWindow: 50_000, prices: { input: 1, output: 2 } } };

function agentOf(more: readonly ScriptedStep[] = []): Agent {
  return {
    model: scriptedModel([...steps, ...more]),
    tools: { look },
    context: { limits },
  };
}

/** All that a session knows, as its log says and as it says itself. */
async function memory({ session, log }: OpenSession): Promise<unknown> {
  const { machine, ...folded } = await stateAt(log, session.id);
  const live = await session.view();
  const context = await session.context();
  const { value, context: remembered } = machine;
  return structuredClone({ folded, machine: { value, remembered }, live, context });
}

const parts = [{ type: "text" as const, text: "Look.", providerOptions: { p: { x: [1] } } }];

/** A session after a turn with two calls. */
async function seen(more?: readonly ScriptedStep[]): Promise<OpenSession> {
  const open = await openSession(agentOf(more));
  await (
    await open.session.send(parts)
  ).result;
  return open;
}

const half: CompactionStrategy = {
  name: "half",
  plan: ({ items }) => {
    const [first] = items;
    const last = items.at(-1);
    return first && last
      ? { covers: { from: first.position, to: last.position }, summary: "." }
      : undefined;
  },
};

describe("an answer of a session that is edited changes nothing of it", () => {
  it.for<[string, (open: OpenSession) => Promise<unknown>]>([
    ["view", ({ session }) => session.view()],
    ["atRest", ({ session }) => session.atRest()],
    ["at", async ({ session }) => await session.at((await session.view()).position)],
    ["context", ({ session }) => session.context()],
    ["preview", ({ session }) => session.preview({ compact: half })],
    ["preview of nothing", ({ session }) => session.preview()],
    ["cancel", ({ session }) => session.cancel()],
    ["diff", ({ session }) => session.diff(3, 9)],
    ["events", ({ log, session }) => Array.fromAsync(log.read(session.id))],
    ["sessions", ({ runtime }) => Array.fromAsync(runtime.sessions())],
    ["the result of a turn", async ({ session }) => await (await session.turn("m")).result],
  ])("%s", async ([, ask]) => {
    const open = await openSession(agentOf(["More."]));
    await using _ = open;
    await (
      await open.session.send(parts, { id: "m" })
    ).result;
    const before = await memory(open);
    spoil(await ask(open));
    expect(await memory(open)).toEqual(before);
    await (
      await open.session.send("Go on.")
    ).result;
  });

  it("in the middle of a step neither", async () => {
    const held = gate();
    await using open = await openSession({
      model: scriptedModel([saying("Some", held, "thing.")]),
    });
    const turn = await open.session.send(parts);
    await held.reached;
    spoil(await open.session.view());
    spoil(await open.session.preview({ compact: half }));
    held.open();
    await turn.result;
    const { history, machine } = await stateAt(open.log, open.session.id);
    const view = await open.session.view();
    expect(view.history).toEqual(history.items);
    expect(view.state.context).toEqual(machine.context);
  });

  it("nor does it change what another runtime of the process answers", async () => {
    const fresh = async (): Promise<unknown> => {
      await using other = await openSession(agentOf());
      const { session } = other;
      return structuredClone([await session.context(), await session.view()]);
    };
    const timeless = (told: unknown): string =>
      JSON.stringify(told).replaceAll(/"(?:at|time)":\d+/g, "");
    const before = timeless(await fresh());
    await using open = await seen();
    const { session } = open;
    for (const answer of [await session.context(), await session.view(), usage.initial]) {
      spoil(answer);
    }
    spoil(spending(usage.initial));
    spoil(modelMedia({ provider: "anthropic", modelId: "claude-opus-4-6" }));
    expect(timeless(await fresh())).toBe(before);
    expect(modelMedia({ provider: "anthropic", modelId: "claude-opus-4-6" })?.pictures).toBe(600);
    expect(limits["turnlog:scripted"]).toEqual({
      contextWindow: 50_000,
      prices: { input: 1, output: 2 },
    });
  });
});

describe("events that a subscriber edits", () => {
  it("are those of the log for the next subscriber", async () => {
    await using open = await openSession(agentOf());
    const { session, log } = open;
    const end = new AbortController();
    const told: [SessionEvent[], SessionEvent[]] = [[], []];
    const follow = async (mine: SessionEvent[]): Promise<void> => {
      for await (const event of session.events({ signal: end.signal })) {
        mine.push(structuredClone(event));
        spoil(event);
        if (event.type === "turn.ended") return;
      }
    };
    const following = told.map(follow);
    await (
      await session.send(parts)
    ).result;
    await Promise.all(following);
    end.abort();
    const stored = await Array.fromAsync(log.read(session.id));
    for (const mine of told) expect(mine).toEqual(stored.slice(0, mine.length));
  });
});

describe("what users' code is lent", () => {
  const sources = ["language-model-call", "stream-text"] as const;

  it.for(sources)(
    "by %s, a middleware edits its prompt for its own call alone",
    async (stepSource) => {
      const sent: string[] = [];
      const editing: LanguageModelMiddleware = {
        specificationVersion: "v4",
        transformParams: ({ params }) => {
          sent.push(JSON.stringify(params.prompt));
          const [first] = params.prompt;
          if (first?.role === "user") {
            const [part] = first.content;
            if (part?.type === "text") part.text = "Edited.";
            first.content.push({ type: "text", text: "Pushed." });
          }
          params.prompt.push({ role: "user", content: [{ type: "text", text: "Appended." }] });
          spoil(params.providerOptions);
          spoil(params.prompt.slice(1, -1));
          return Promise.resolve(params);
        },
      };
      const inner = scriptedModel([...steps, "Again."]);
      const agent = {
        ...agentOf(),
        providerOptions: { p: { list: ["one"] } },
        model: wrapLanguageModel({ model: inner, middleware: editing }),
      };
      await using open = await openSession(agent, { stepSource });
      const turn = await open.session.send(parts);
      await turn.result;
      const view = await open.session.view();
      await (
        await open.session.send("Go on.")
      ).result;
      // Its own call has what it edited …
      expect(JSON.stringify(inner.calls[0]?.prompt)).toContain("Edited.");
      expect(JSON.stringify(inner.calls[0]?.prompt)).toContain("Pushed.");
      expect(inner.calls[0]?.prompt.at(-1)).toEqual({
        role: "user",
        content: [{ type: "text", text: "Appended." }],
      });
      // … and neither the next call, nor the session, nor the agent knows of it.
      expect(sent).toHaveLength(3);
      expect(sent.join("")).not.toMatch(/Edited|Pushed|Appended|spoilt/);
      expect(JSON.stringify(view)).not.toMatch(/Edited|Pushed|Appended|spoilt/);
      const { p } = inner.calls[2]?.providerOptions ?? {};
      expect(p?.["list"]).toEqual(["one spoilt", "spoilt"]);
      const { messages: prompt } = (await open.session.view()).prompt;
      expect(prompt.slice(0, view.prompt.messages.length)).toEqual(view.prompt.messages);
    },
  );

  it.for(sources)(
    "by %s, a tool edits its messages and its input for itself",
    async (stepSource) => {
      const lent: string[] = [];
      const edit = (input: unknown, { messages }: { messages: unknown[] }): boolean => {
        lent.push(JSON.stringify([input, messages]));
        expect(Object.isFrozen(messages)).toBe(false);
        spoil(messages);
        messages.push("pushed");
        spoil(input);
        return false;
      };
      const editing = tool({
        inputSchema: z.object({ at: z.object({ depth: z.array(z.number()) }) }),
        execute: (input, options) => {
          edit(input, options);
          return "done";
        },
        // oxlint-disable-next-line typescript/no-deprecated
        needsApproval: edit,
        onInputStart: (options) => void edit({}, options),
        onInputAvailable: ({ input: _, ...options }) => void edit({}, options),
      });
      const agent: Agent = {
        ...agentOf(["Again."]),
        tools: { look: editing },
        toolApproval: ({ toolCall }) => {
          spoil(toolCall.input);
          return undefined;
        },
      };
      await using open = await openSession(agent, { stepSource });
      await (
        await open.session.send(parts)
      ).result;
      expect(lent.length).toBeGreaterThanOrEqual(4);
      const view = await open.session.view();
      const { history } = await stateAt(open.log, open.session.id);
      expect(view.history).toEqual(history.items);
      expect(JSON.stringify(view)).not.toContain("spoilt");
    },
  );

  it("a strategy cannot change the history that it plans for", async () => {
    const editing: CompactionStrategy = {
      name: "editing",
      plan: (history, view, budget) => {
        spoil(history);
        spoil(view);
        return half.plan(history, view, budget);
      },
    };
    await using open = await seen();
    const before = await memory(open);
    await open.session.preview({ compact: editing });
    expect(await memory(open)).toEqual(before);
  });

  it("a call that a dead process left is run again on its own copy of the input", async () => {
    await using first = await seen();
    const events = await first.events();
    const cut = events.slice(0, events.findIndex(({ type }) => type === "tool.started") + 1);
    await using log = await openMemoryLog();
    await log.append("s", "none", cut);
    // Hands on what it is given, unlike those of zod.
    const loose = jsonSchema<object>({ type: "object" });
    const spoiling = tool({
      inputSchema: loose,
      execute: (input) => {
        spoil(input);
        return "done";
      },
    });
    const agent: Agent = {
      model: scriptedModel(["Seen."]),
      tools: { look: spoiling },
      toolPolicies: { look: { idempotent: true } },
    };
    await using other = await openSession(agent, { log, recovery: "continue" });
    await other.session.idle();
    const view = await other.session.view();
    const { history } = await stateAt(log, "s");
    expect(view.history).toEqual(history.items);
    expect(JSON.stringify(view)).not.toContain("spoilt");
  });
});

describe("options that their owner edits after handing them over", () => {
  it("of an agent, are what they were", async () => {
    const model = scriptedModel([...steps, "Again."]);
    const agent = {
      ...agentOf(),
      model,
      instructions: "As told.",
      headers: { told: "yes" },
      providerOptions: { p: { list: ["one"] } },
      stopSequences: ["x"],
      toolPolicies: { look: { idempotent: true } },
      context: { limits: structuredClone(limits) },
      tools: { look: { ...look } },
    };
    await using open = await openSession(agent);
    await (
      await open.session.send(parts)
    ).result;
    const context = structuredClone(await open.session.context());
    const { model: _, ...editable } = agent;
    spoil(editable);
    expect((await open.session.context()).limits).toEqual(context.limits);
    await (
      await open.session.send("Go on.")
    ).result;
    const { headers, providerOptions, stopSequences } = model.calls[2] ?? {};
    expect({ providerOptions, stopSequences }).toEqual({
      providerOptions: { p: { list: ["one"] } },
      stopSequences: ["x"],
    });
    expect(headers).toMatchObject({ told: "yes" });
  });

  it("of a message, are what they were: also bytes", async () => {
    await using open = await openSession(agentOf());
    const bytes = new Uint8Array([1, 2, 3, 4]);
    const said = [
      { type: "text" as const, text: "Look." },
      { type: "file" as const, data: bytes, mediaType: "application/octet-stream" },
    ];
    const sending = open.session.send(said);
    bytes.fill(9);
    spoil(said);
    await (
      await sending
    ).result;
    const told = JSON.stringify((await open.session.view()).history[0]);
    expect(told).toContain("AQIDBA==");
    expect(told).not.toContain("spoilt");
  });

  it("of a command, are what they were when they were checked", async () => {
    await using open = await seen();
    const options: { position: number } = { position: 2 };
    const looking = open.session.context(options);
    options.position = -1;
    await expect(looking).resolves.toBeDefined();
  });
});

describe("a view", () => {
  it("shows nothing that is not in the log yet", async () => {
    const gates = [gate(), gate()] as const;
    const model = scriptedModel([saying("One", gates[0], "Two", gates[1], "Three")]);
    await using inner = await openMemoryLog();
    const slow = slowLog(inner);
    await using open = await openSession({ model }, { log: slow.log });
    const { session } = open;
    const turn = await session.send("Talk.");
    await gates[0].reached;
    await session.view();
    slow.isHeld = true;
    gates[0].open();
    await gates[1].reached;
    const asked = [session.view(), session.context()] as const;
    gates[1].open();
    await eventually(() => {
      expect(slow.held.length).toBeGreaterThan(1);
    });
    slow.held[0]?.resolve();
    const { position } = await asked[0];
    expect(position).toBe(await inner.revision(session.id));
    slow.isHeld = false;
    for (const one of slow.held) one.resolve();
    await turn.result;
  });
});

interface SlowLog {
  readonly log: EventLog;
  /** Appends that wait, each for its own resolution. */
  readonly held: readonly PromiseWithResolvers<void>[];
  isHeld: boolean;
}

function slowLog(inner: EventLog): SlowLog {
  const held: PromiseWithResolvers<void>[] = [];
  let last: Promise<unknown> = Promise.resolve();
  const append: EventLog["append"] = (...given) => {
    const turn = Promise.withResolvers<void>();
    if (slow.isHeld) held.push(turn);
    else turn.resolve();
    const appended = Promise.allSettled([last, turn.promise]).then(() => inner.append(...given));
    last = appended;
    return appended;
  };
  const slow = { log: wrapLog(inner, { append }), held, isHeld: false };
  return slow;
}
