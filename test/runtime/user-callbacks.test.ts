// Functions of an agent and of its context options that throw, or answer what they should not: the turn, the
// compaction or the call that needs them fails with their name, and the session continues.
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  dropOldest,
  overflow,
  TurnlogError,
  verifySession,
  type Agent,
  type CompactionStrategy,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { call, calling } from "../support/script.ts";
import { containing } from "./tools.ts";
import { openSession } from "../support/with-runtime.ts";

/** A function that does what a broken one does, until it is mended. */
class Broken {
  isMended = false;

  /** The function as it is meant to be, as long as it is not broken. */
  of<Asked extends readonly unknown[], Answer>(
    whole: (...asked: Asked) => Answer,
    broken: () => Answer = boom,
  ): (...asked: Asked) => Answer {
    return (...asked) => (this.isMended ? whole(...asked) : broken());
  }
}

function boom(): never {
  throw new Error("Boom.");
}

/** What throws when it is looked at. */
function hostile(): never {
  throw new Proxy(new Error("Boom."), {
    get: boom,
    has: boom,
    getPrototypeOf: boom,
    ownKeys: boom,
  });
}

type Context = NonNullable<Agent["context"]>;

const oldest = dropOldest({ keepTurns: 1 });
const plan: CompactionStrategy["plan"] = (...asked) => oldest.plan(...asked);
const usual = overflow();
const limit: typeof usual.limit = (estimate) => usual.limit?.(estimate);
const always = { name: "always", atLimit: "compact", limit: () => 1 } as const;

function strategy(own: Partial<CompactionStrategy>): CompactionStrategy {
  return { name: "own", plan, ...own };
}

const wrong = (value: unknown): (() => never) => {
  // What a program without types may answer.
  return () => value as never;
};

/** A promise that nobody awaits: its failure must not end the process. */
const late = (): never => Promise.reject(new Error("late")) as never;

/** Options whose function the step itself needs. */
const ofSteps: readonly (readonly [string, string, (broken: Broken) => Context])[] = [
  [
    "a limit that throws",
    "context.compact.when.limit",
    (broken) => ({
      compact: { when: { ...always, limit: broken.of(limit) }, how: oldest },
    }),
  ],
  [
    "a limit that answers NaN",
    "context.compact.when.limit",
    (broken) => ({
      compact: { when: { ...always, limit: broken.of(limit, () => NaN) }, how: oldest },
    }),
  ],
  [
    "a limit that answers a promise",
    "context.compact.when.limit",
    (broken) => ({
      compact: {
        when: { ...always, limit: broken.of(limit, late) },
        how: oldest,
      },
    }),
  ],
  [
    "a limit that throws what cannot be read",
    "context.compact.when.limit",
    (broken) => ({
      compact: { when: { ...always, limit: broken.of(limit, hostile) }, how: oldest },
    }),
  ],
  [
    "a trigger that throws",
    "context.compact.when.due",
    (broken) => ({ compact: { when: { name: "own", due: broken.of(() => false) }, how: oldest } }),
  ],
  [
    "a trigger that answers a promise",
    "context.compact.when.due",
    (broken) => ({
      compact: {
        when: { name: "own", due: broken.of(() => false, late) },
        how: oldest,
      },
    }),
  ],
  [
    "an estimator that throws",
    "context.estimator.text",
    (broken) => ({
      estimator: { name: "own", exact: false, text: broken.of((text) => text.length) },
    }),
  ],
  [
    "an estimator that answers a text",
    "context.estimator.text",
    (broken) => ({
      estimator: { name: "own", exact: false, text: broken.of((text) => text.length, wrong("7")) },
    }),
  ],
  [
    "an estimator that answers less than nothing",
    "context.estimator.text",
    (broken) => ({
      estimator: {
        name: "own",
        exact: false,
        text: broken.of(
          (text) => text.length,
          () => -1,
        ),
      },
    }),
  ],
  [
    "a catalogue that throws",
    "context.catalogue.limits",
    (broken) => ({
      catalogue: { limits: broken.of(() => undefined), cost: () => undefined },
    }),
  ],
];

describe("a function that a step needs", () => {
  it.each(ofSteps)(
    "%s fails its turn by name, and the next message works",
    async (_, name, made) => {
      const broken = new Broken();
      const model = scriptedModel(["Fine.", "Fine."]);
      await using open = await openSession({ model, context: made(broken) });
      const { session } = open;
      const failed = (await session.send("Go.")).result;
      await expect(failed).rejects.toMatchObject({
        code: "TURN_FAILED",
        message: containing(`\`${name}\``),
        cause: { message: containing("Fix it"), code: "CALLBACK_FAILED" },
      });
      expect(model.calls).toHaveLength(0);
      // Figures name it too, and harm nothing.
      await expect(session.context()).rejects.toMatchObject({ code: "CALLBACK_FAILED" });
      // Again, and again in the same way.
      await expect((await session.send("Again.")).result).rejects.toMatchObject({
        code: "TURN_FAILED",
      });
      broken.isMended = true;
      expect(await (await session.send("And now?")).result).toMatchObject({ text: "Fine." });
      expect((await verifySession(open.log, "s")).problems).toEqual([]);
    },
  );

  it("is named once in a fork and a rerun, and by both ways of calling a model", async () => {
    const broken = new Broken();
    const model = scriptedModel(() => "Fine.");
    const context: Context = {
      estimator: { name: "own", exact: false, text: broken.of((text) => text.length) },
    };
    for (const stepSource of ["language-model-call", "stream-text"] as const) {
      broken.isMended = true;
      await using open = await openSession({ model, context }, { stepSource });
      await (
        await open.session.send("Go.")
      ).result;
      const fork = await open.session.fork({ instructions: "Be short." });
      broken.isMended = false;
      const error = await (await fork.send("Go on.")).result.catch((failed: unknown) => failed);
      expect(String(error).split("context.estimator.text")).toHaveLength(2);
      broken.isMended = true;
      expect(await (await fork.send("Again.")).result).toMatchObject({ text: "Fine." });
      expect((await verifySession(open.log, fork.id)).problems).toEqual([]);
    }
  });

  it("fails a turn that it breaks between two steps", async () => {
    const broken = new Broken();
    broken.isMended = true;
    const context: Context = {
      compact: { when: { ...always, limit: broken.of(limit) }, how: oldest },
    };
    const model = scriptedModel([calling(call("break", "1")), "Fine."]);
    const tools = {
      break: tool({
        inputSchema: z.object({}),
        execute: () => {
          broken.isMended = false;
          return "Broken.";
        },
      }),
    };
    await using open = await openSession({ model, tools, context });
    await expect((await open.session.send("Go.")).result).rejects.toThrow(/when\.limit/);
    broken.isMended = true;
    expect(await (await open.session.send("And?")).result).toMatchObject({ text: "Fine." });
  });
});

/** Strategies whose function a compaction needs. */
const ofCompactions: readonly (readonly [
  string,
  string,
  (broken: Broken) => CompactionStrategy,
])[] = [
  [
    "a plan that throws",
    "context.compact.how.plan",
    (broken) => strategy({ plan: broken.of(plan) }),
  ],
  [
    "a malformed plan",
    "context.compact.how.plan",
    (broken) => strategy({ plan: broken.of(plan, wrong({ covers: null })) }),
  ],
  [
    "a request that throws",
    "context.compact.how.writer.request",
    (broken) => strategy({ writer: { request: broken.of(() => undefined) } }),
  ],
  [
    "a reply that cannot be read",
    "context.compact.how.writer.request().read",
    (broken) =>
      strategy({
        writer: {
          request: () => ({
            covers: { from: 1, to: 4 },
            instructions: "Sum up.",
            prompt: "All.",
            tokens: 3,
            maxTokens: 9,
            read: broken.of(() => ({ problem: "empty" }) as const),
          }),
        },
      }),
  ],
];

describe("a function that a compaction needs", () => {
  it.each(ofCompactions)(
    "%s rejects the compaction by name, and the turn continues",
    async (_, name, made) => {
      const broken = new Broken();
      const model = scriptedModel(() => "Fine.");
      const context = { compact: { when: always, how: made(broken) } };
      await using open = await openSession({ model, context });
      const { session } = open;
      for (const text of ["One.", "Two."])
        expect(await (await session.send(text)).result).toMatchObject({ text: "Fine." });
      const rejected = (await open.events()).filter(
        ({ type }) => type === "context.compaction-rejected",
      );
      expect(JSON.stringify(rejected)).toContain(`\`${name}\``);
      // The same where one compaction is asked for with it.
      await session.compact(made(broken));
      broken.isMended = true;
      expect(await (await session.send("Three.")).result).toMatchObject({ text: "Fine." });
      expect((await verifySession(open.log, "s")).problems).toEqual([]);
    },
  );
});

type Tools = NonNullable<Agent["tools"]>;

const looks = { inputSchema: z.object({}), execute: () => "Seen." };

/** Functions that a call needs: the call fails, and the model is told. */
const ofCalls: readonly (readonly [string, (broken: Broken) => Partial<Agent>])[] = [
  ["`toolApproval`", (broken) => ({ toolApproval: broken.of(() => undefined) })],
  [
    "a tool's `needsApproval`",
    // oxlint-disable-next-line typescript/no-deprecated
    (broken) => ({ tools: { look: tool({ ...looks, needsApproval: broken.of(() => false) }) } }),
  ],
  [
    "a tool's `execute`",
    (broken) => ({ tools: { look: tool({ ...looks, execute: broken.of(() => "Seen.") }) } }),
  ],
  [
    "a tool's `toModelOutput`",
    (broken) => ({
      tools: {
        look: tool({
          ...looks,
          toModelOutput: broken.of(() => ({ type: "text", value: "Seen." }) as const),
        }),
      },
    }),
  ],
  [
    "a tool's schema",
    (broken) => ({
      tools: {
        look: tool({ ...looks, inputSchema: z.object({}).refine(broken.of(() => true)) }),
      },
    }),
  ],
  [
    "`repairToolCall`",
    (broken) => ({
      tools: { look: tool({ ...looks, inputSchema: z.object({ path: z.string() }) }) },
      repairToolCall: broken.of(async () => await Promise.resolve(null)),
    }),
  ],
  [
    "a tool's `onInputStart`",
    (broken) => ({ tools: { look: tool({ ...looks, onInputStart: broken.of(() => {}) }) } }),
  ],
  [
    "a tool's `onInputDelta`",
    (broken) => ({ tools: { look: tool({ ...looks, onInputDelta: broken.of(() => {}) }) } }),
  ],
  [
    "a tool's `onInputAvailable`",
    (broken) => ({ tools: { look: tool({ ...looks, onInputAvailable: broken.of(() => {}) }) } }),
  ],
];

describe("a function that a call needs", () => {
  for (const stepSource of ["language-model-call", "stream-text"] as const) {
    it.each(ofCalls)(`ends no session (${stepSource}): %s`, async (_, made) => {
      const broken = new Broken();
      const tools: Tools = { look: tool(looks) };
      const model = scriptedModel(({ prompt }) =>
        prompt.at(-1)?.role === "tool" ? "Fine." : calling(call("look", "1")),
      );
      await using open = await openSession(
        { model, tools, maxRetries: 0, ...made(broken) },
        { stepSource },
      );
      const { session } = open;
      const outcome = (await session.send("Go.")).result.then(
        ({ text }) => text,
        (error: unknown) => (TurnlogError.isInstance(error) ? error.code : error),
      );
      expect(["Fine.", "TURN_FAILED"]).toContain(await outcome);
      expect(JSON.stringify(await open.events())).toContain("Boom.");
      broken.isMended = true;
      expect(await (await session.send("And now?")).result).toMatchObject({ text: "Fine." });
      expect((await verifySession(open.log, "s")).problems).toEqual([]);
    });
  }
});

it.each(["onInputStart", "onInputDelta", "onInputAvailable"] as const)(
  "a turn that a tool's `%s` fails says so by its name",
  async (name) => {
    const tools = { look: tool({ ...looks, [name]: boom }) };
    const model = scriptedModel([calling(call("look", "1")), "Fine."]);
    await using open = await openSession({ model, tools });
    await expect((await open.session.send("Go.")).result).rejects.toMatchObject({
      message: containing(`\`tools.look.${name}\``),
      cause: { code: "CALLBACK_FAILED" },
    });
  },
);
