/** `compare` against all that happens in a session beside messages: it ends, in the right words, and no tool runs. */

import {
  agentTool,
  askPerson,
  createRuntime,
  openMemoryLog,
  verifySession,
  type Agent,
  type Session,
} from "../../src/public/index.ts";
import { Output, stepCountIs, tool, type Tool, type ToolSet } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { compare } from "../../src/compare/index.ts";
import {
  gate,
  scriptedModel,
  type ScriptedModel,
  type ScriptedStep,
} from "../../src/models/index.ts";
import { tryCandidate } from "../../src/replay/index.ts";
import { modelOf, refusal } from "../support/failing-models.ts";
import { call, calling } from "../support/script.ts";
import { storedEvents } from "../support/replay.ts";

const effects: string[] = [];
const inputSchema = z.object({ n: z.number() });
const acting = (name: string, more: { readonly needsApproval?: boolean } = {}): Tool =>
  tool({
    description: name,
    inputSchema,
    execute: async ({ n }) => {
      effects.push(name);
      return `${name} ${n}`;
    },
    ...more,
  });
const look = acting("look");
const pay = acting("pay");
const book = acting("book", { needsApproval: true });
const freeBook = acting("book");
const where: ToolSet[string] = tool({ description: "where", inputSchema });
const listens: ToolSet[string] = tool({
  description: "listens",
  inputSchema,
  onInputAvailable: () => void effects.push("listens"),
});
const visit = tool({
  description: "visit",
  inputSchema,
  execute: async (_, options) => {
    effects.push("visit");
    askPerson(options, {
      kind: "address",
      from: "Shop",
      url: "https://shop.test/",
      message: "Pay.",
    });
    return "paid";
  },
});
const [lookBegins, lookCancelled, lateRuns] = [gate(), gate(), gate()];
const late = tool({
  description: "late",
  inputSchema,
  execute: async (_, { abortSignal }) => {
    effects.push("late");
    lateRuns.open();
    await new Promise((end) => {
      abortSignal?.addEventListener("abort", end);
    });
    return "late";
  },
});
const count = tool({
  description: "count",
  inputSchema,
  execute: async function* ({ n }) {
    effects.push("count");
    yield n;
    yield n + 1;
  },
});
const fails = tool({
  description: "fails",
  inputSchema,
  execute: async (): Promise<string> => {
    effects.push("fails");
    throw new Error("broken");
  },
});
const clerk = agentTool({
  description: "clerk",
  agent: {
    model: scriptedModel(() => {
      effects.push("clerk");
      return "Found.";
    }),
  },
});

// The ids of a model's calls are never those of another run.
let ids = 0;
const use = (name: string, n = 1): ScriptedStep => calling(call(name, `id${++ids}`, { n }));
const uses = (...names: readonly string[]): ScriptedStep =>
  calling(...names.map((name) => call(name, `id${++ids}`, { n: 1 })));
const ask = (task: string): ScriptedStep => calling(call("clerk", `id${++ids}`, { task }));
const refused: ScriptedStep = { failure: refusal(401) };
const spare = (text: string, provider = "spare"): ScriptedModel => modelOf(provider, () => text);
const refusedSpare = modelOf("spare", () => refused);
const spareClerk = agentTool({
  description: "clerk",
  agent: { model: modelOf("one", () => refused), fallback: [spare("Found.")] },
});
const down: ScriptedStep = { failure: new Error("down") };

function agent(
  steps: readonly ScriptedStep[],
  tools: ToolSet = { look, pay },
  more: Partial<Agent> = {},
): Agent {
  return { model: scriptedModel([...steps]), tools, instructions: "You help.", ...more };
}

type Act = (session: Session) => Promise<Session | void>;

const say =
  (...messages: readonly string[]): Act =>
  async (session) => {
    for (const message of messages) await (await session.send(message)).result.catch(() => {});
  };

/** Sends two messages, and answers what the first asks. */
const answering =
  (answer: "approve" | "deny"): Act =>
  async (session) => {
    const turn = await session.send("Go.");
    const { approvals, outputRequests } = await session.atRest();
    for (const { approvalId } of approvals) await session[answer](approvalId);
    for (const { requestId } of outputRequests)
      await session.answerCall(requestId, { output: "home" });
    await turn.result;
    await say("More.")(session);
  };

interface Crossing {
  readonly recorded: Agent;
  readonly act: Act;
  /** By candidate: the verdict, and where it stopped. */
  readonly candidates: Readonly<Record<string, readonly [candidate: Agent, found: string]>>;
}

const asking = { look, book };
const client: ToolSet = { look, where };
const output = Output.object({ schema: z.object({ a: z.number() }) });
const stopWhen = stepCountIs(2);

const crossings: Readonly<Record<string, Crossing>> = {
  "an approval": {
    recorded: agent([use("look"), use("book"), "Booked.", "Yes?"], asking),
    act: answering("approve"),
    candidates: {
      same: [agent([use("look"), use("book"), "Booked.", "Yes?"], asking), "equal"],
      "asked earlier": [agent([uses("book", "look"), "Booked.", "Yes?"], asking), "different"],
      "asked in a later turn": [agent(["No.", use("book"), "Yes?"], asking), "different"],
      "asked about something else": [
        agent([use("book", 2), "a", "b"], asking),
        "stopped at miss, step 1",
      ],
      "asked twice": [
        agent([use("book"), use("book"), "a", "b"], asking),
        "stopped at miss, step 2",
      ],
      "not asked": [agent(["No.", "No."], asking), "different"],
      "followed by a failure": [agent([use("book"), down, "b"], asking), "worse"],
      "dropped from the tool": [
        agent([use("look"), use("book"), "Booked.", "Yes?"], { look, book: freeBook }),
        "different",
      ],
    },
  },
  "a denial": {
    recorded: agent([use("book"), "Not booked.", "Yes?"], asking),
    act: answering("deny"),
    candidates: {
      same: [agent([use("book"), "Not booked.", "Yes?"], asking), "equal"],
      "which nobody is asked for": [
        agent([use("book"), "a", "b"], { look, book: freeBook }),
        "stopped at miss, step 1",
      ],
    },
  },
  "a tool that asks a person": {
    recorded: agent([use("visit"), "Paid.", "Yes?"], { look, visit }),
    act: answering("approve"),
    candidates: {
      same: [agent([use("visit"), "Paid.", "Yes?"], { look, visit }), "equal"],
      "after another call": [
        agent([uses("look", "visit"), "Paid.", "Yes?"], { look, visit }),
        "stopped at miss, step 1",
      ],
      "and a model that says something else": [
        agent([use("visit"), "Done.", "Yes?"], { look, visit }),
        "different",
      ],
    },
  },
  "a call that ends once it was cancelled": {
    recorded: agent([use("late"), "Yes?"], { late }),
    act: async (session) => {
      await session.send("Go.");
      await lateRuns.until;
      await session.cancel();
      await say("More.")(session);
    },
    candidates: { same: [agent([use("late"), "Yes?"], { late }), "equal"] },
  },
  "a call that is cancelled before it runs": {
    recorded: agent(
      [use("look"), "Yes?"],
      { look },
      {
        onToolExecutionStart: async () => {
          lookBegins.open();
          await lookCancelled.until;
        },
      },
    ),
    act: async (session) => {
      await session.send("Go.");
      await lookBegins.until;
      const cancelling = session.cancel();
      for await (const { type } of session.events()) if (type === "turn.cancel-requested") break;
      lookCancelled.open();
      await cancelling;
      await say("More.")(session);
    },
    candidates: { same: [agent([use("look"), "Yes?"], { look }), "equal"] },
  },
  "a question that a cancel ends": {
    recorded: agent([use("visit"), "Yes?"], { visit }),
    act: async (session) => {
      await session.send("Go.");
      await session.atRest();
      await session.cancel();
      await say("More.")(session);
    },
    candidates: { same: [agent([use("visit"), "Yes?"], { visit }), "equal"] },
  },
  "an approval beside an answer of a client": {
    recorded: agent([uses("where", "book"), "Booked.", "Yes?"], { ...client, book }),
    act: answering("approve"),
    candidates: {
      same: [agent([uses("where", "book"), "Booked.", "Yes?"], { ...client, book }), "equal"],
    },
  },
  "a question that is new": {
    recorded: agent([use("book"), "a", "b"], { look, book: freeBook }),
    act: say("Go.", "More."),
    candidates: { asks: [agent([use("book"), "a", "b"], asking), "stopped at miss, step 1"] },
  },
  "an answer of a client": {
    recorded: agent([use("where"), "Home.", "Yes?"], client),
    act: answering("approve"),
    candidates: {
      same: [agent([use("where"), "Home.", "Yes?"], client), "equal"],
      "asked in a later turn": [agent(["No.", use("where"), "Home."], client), "different"],
      "asked about something else": [
        agent([use("where", 2), "a", "b"], client),
        "stopped at miss, step 1",
      ],
      "which a tool gives": [
        agent([use("where"), "a", "b"], { look, where: acting("where") }),
        "stopped at miss, step 1",
      ],
    },
  },
  "tools of all kinds": {
    recorded: agent([uses("count", "fails"), uses("look", "look"), "Done."], {
      count,
      fails,
      look,
    }),
    act: say("Go."),
    candidates: {
      same: [
        agent([uses("fails", "count"), uses("look", "look"), "Done."], { count, fails, look }),
        "equal",
      ],
      "one by one": [
        agent([use("look"), use("count"), use("look"), "Done."], { count, fails, look }),
        "different",
      ],
      "once more": [
        agent([uses("look", "look", "look"), "a"], { count, fails, look }),
        "stopped at miss, step 1",
      ],
      "without one": [agent([uses("count", "fails"), "Done."], { count, look }), "different"],
      "with another": [
        agent([use("pay"), "Done."], { count, fails, look, pay }),
        "stopped at miss, step 1",
      ],
    },
  },
  "a rewind": {
    recorded: agent([use("look"), "a", "b", "c"]),
    act: async (session) => {
      await say("1", "2")(session);
      await session.rewind({ beforeTurn: 2 });
      await say("3")(session);
    },
    candidates: {
      same: [agent([use("look"), "a", "b", "c"]), "equal"],
      different: [agent(["a", "b", "c"]), "different"],
      failing: [agent([down, "b", "c"]), "worse"],
    },
  },
  "a rewind to what a rewind left": {
    recorded: agent([use("look"), "a", "b", "c", "d"]),
    act: async (session) => {
      await say("1")(session);
      const { position } = await session.rewind({ beforeTurn: 1 });
      await say("2")(session);
      await session.rewind({ to: position });
      await say("3")(session);
    },
    candidates: { same: [agent([use("look"), "a", "b", "c", "d"]), "equal"] },
  },
  "a question that a cancel ends, turns before the end": {
    recorded: agent([use("visit"), "a", "b", "c"], { visit }),
    act: async (session) => {
      await session.send("1");
      await session.atRest();
      await session.cancel();
      await say("2", "3")(session);
      await session.rewind({ beforeTurn: 3 });
      await say("4")(session);
    },
    candidates: { same: [agent([use("visit"), "a", "b", "c"], { visit }), "equal"] },
  },
  "an edit, and another reply": {
    recorded: agent(["a", "b", "c"]),
    act: async (session) => {
      await (
        await session.send("1", { id: "m1" })
      ).result;
      await (
        await session.send("2", { id: "m2", replaces: "m1" })
      ).result;
      await (
        await session.regenerate({ messageId: "m2" })
      ).result;
    },
    candidates: {
      same: [agent(["a", "b", "c"]), "equal"],
      different: [agent(["a", "x", "y"]), "different"],
    },
  },
  "a fork": {
    recorded: agent(["a", "b", "c"]),
    act: async (session) => {
      await say("1", "2")(session);
      const fork = await session.fork();
      await say("3")(fork);
      return fork;
    },
    candidates: {
      same: [agent(["a", "b", "c"]), "equal"],
      different: [agent(["a", "x", "y"]), "different"],
      failing: [agent(["a", down, "c"]), "worse"],
    },
  },
  "a sub-agent": {
    recorded: agent([ask("t"), "Done."], { clerk, look }),
    act: say("Go."),
    candidates: {
      same: [agent([ask("t"), "Done."], { clerk, look }), "equal"],
      "with another task": [agent([ask("u"), "Done."], { clerk, look }), "stopped at miss, step 1"],
    },
  },
  "a model whose successor takes over": {
    recorded: agent([refused, "Never."], {}, { fallback: [spare("a"), spare("b", "other")] }),
    act: say("Go."),
    candidates: {
      same: [agent([refused, "Never."], {}, { fallback: [spare("a")] }), "equal"],
      "which it needs no more": [agent(["a"]), "different"],
      "which it has no more": [agent([refused]), "worse"],
      "and fails as well": [
        agent([refused], {}, { fallback: [refusedSpare, spare("a", "other")] }),
        "different",
      ],
    },
  },
  "a sub-agent whose model has a successor": {
    recorded: agent([ask("t"), "Done."], { clerk: spareClerk, look }),
    act: say("Go."),
    candidates: {
      same: [agent([ask("t"), "Done."], { clerk: spareClerk, look }), "equal"],
      "with another task": [
        agent([ask("u"), "Done."], { clerk: spareClerk, look }),
        "stopped at miss, step 1",
      ],
    },
  },
  "an output": {
    recorded: agent(['{"a":1}'], {}, { output }),
    act: say("Go."),
    candidates: {
      same: [agent(['{"a":1}'], {}, { output }), "equal"],
      different: [agent(['{"a":2}'], {}, { output }), "different"],
      "which is none": [agent(["nope"], {}, { output }), "worse"],
    },
  },
  "an output that a message asks for": {
    recorded: agent(['{"a":1}']),
    act: async (session) => {
      await (
        await session.send("Go.", { output })
      ).result;
    },
    candidates: {
      same: [agent(['{"a":1}']), "equal"],
      different: [agent(['{"a":2}']), "different"],
      "which is none": [agent(["nope"]), "worse"],
    },
  },
  "a tool that acts while its input comes": {
    recorded: agent([use("listens"), "Home.", "Yes?"], { listens }),
    act: answering("approve"),
    candidates: { same: [agent([use("listens"), "Home.", "Yes?"], { listens }), "equal"] },
  },
  "a condition that stops": {
    recorded: agent([use("look"), use("pay"), "a"], { look, pay }, { stopWhen }),
    act: say("Go.", "More."),
    candidates: {
      same: [agent([use("look"), use("pay"), "a"], { look, pay }, { stopWhen }), "equal"],
      "that is gone": [agent([use("look"), use("pay"), "a", "b"]), "different"],
    },
  },
  "a model that hangs, with a limit of time": {
    recorded: agent(["a"]),
    act: say("Go."),
    candidates: {
      "of the turn": [agent([{ parts: [gate()] }], {}, { timeout: { totalMs: 50 } }), "worse"],
      "of a step": [
        agent([{ parts: [gate()] }], {}, { timeout: { stepMs: 50 }, maxRetries: 0 }),
        "worse",
      ],
    },
  },
};

async function record({ recorded, act }: Crossing) {
  const log = await openMemoryLog();
  await using runtime = await createRuntime({ log, agent: recorded });
  const session = await runtime.session("s");
  const { id } = (await act(session)) ?? session;
  effects.length = 0;
  return { log, id };
}

it.each(Object.entries(crossings))("%s", { timeout: 10_000 }, async (_, crossing) => {
  const { log, id } = await record(crossing);
  await using results = await openMemoryLog();
  const found = await Promise.all(
    Object.entries(crossing.candidates).map(async ([name, [candidate]]) => {
      const { sessions } = await compare(log, {
        agent: candidate,
        sessions: [id],
        results,
        experiment: name,
      });
      const [{ verdict, stopped } = {}] = sessions;
      return [name, stopped ? `${verdict} at ${stopped.at}, step ${stopped.step}` : verdict];
    }),
  );
  const expected = Object.entries(crossing.candidates).map(([name, [, result]]) => [name, result]);
  expect(found).toEqual(expected);
  // What was kept is whole, and over.
  for await (const { session } of results.list()) {
    const { problems } = await verifySession(results, session);
    const last = (await storedEvents(results, session)).at(-1);
    expect([session, problems, last?.type]).toEqual([session, [], "session.closed"]);
  }
  expect(effects).toEqual([]);
});

it("gives a cancel that follows a message, also to a candidate that goes its own way", async () => {
  const pause = gate();
  const { log } = await record({
    recorded: agent([use("look"), { parts: [{ type: "text", deltas: ["a", pause] }] }, "b"]),
    act: async (session) => {
      await session.send("1");
      await pause.reached;
      await session.send("2");
      await session.cancel();
      await session.idle();
    },
    candidates: {},
  });
  const { sessions } = await compare(log, { agent: agent([use("look"), "other", "b", "c"]) });
  expect(sessions[0]?.turns[0]).toMatchObject({ candidate: sessions[0]?.turns[0]?.recorded });
});

it("cancels a call whose turn was cancelled, and does not miss its answer", async () => {
  const running = gate();
  const slow = tool({
    description: "slow",
    inputSchema,
    execute: async (): Promise<string> => {
      running.open();
      return await new Promise<never>(() => {});
    },
  });
  const { log } = await record({
    recorded: agent([use("slow"), "b"], { slow }),
    act: async (session) => {
      await session.send("1");
      await running.until;
      await session.cancel();
      await say("2")(session);
    },
    candidates: {},
  });
  const { sessions } = await compare(log, { agent: agent([use("slow"), "other"], { slow }) });
  expect(sessions[0]).toMatchObject({ verdict: "different" });
});

it("ends where the model gives nothing any more", async () => {
  const { log } = await record({ recorded: agent(["a"]), act: say("Go."), candidates: {} });
  const tried = await tryCandidate(await storedEvents(log, "s"), agent([{ parts: [gate()] }]), {
    onMiss: async () => undefined,
    onCall: () => undefined,
    stallMs: 20,
  });
  expect(tried.stopped).toMatchObject({ at: "failure", step: 1 });
});
