/**
 * A real runtime with everything around it in the test's hand: its log, which fails on demand, time, a model
 * that does what the plan of each message says, tools that wait, and the life of the process.
 */

import { APICallError, tool } from "ai";
import { z } from "zod";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import {
  agentTool,
  askPerson,
  createRuntime,
  defineEvents,
  manual,
  memoryKeys,
  openMemoryLog,
  type Agent,
  type CompactionStrategy,
  type EventLog,
  type Runtime,
  type Session,
  TurnlogError,
} from "../../src/public/index.ts";
import {
  gate,
  scriptedModel,
  type ScriptedModel,
  type ScriptedStep,
} from "../../src/models/index.ts";
import { systemTimer, type Timer } from "../../src/shared/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { failingLog, type FailingLog } from "../support/failing-log.ts";
import { severableLog, type SeverableLog } from "../support/severed-log.ts";
import { testTime } from "../support/test-time.ts";
import { sharedLog } from "./shared-log.ts";

export interface StageOptions {
  readonly encrypted?: boolean;
  /** Milliseconds after which an idle session is passivated. Default: never. */
  readonly idleAfterMs?: number;
  /** What the next process does about an unfinished turn. Default `continue`. */
  readonly recovery?: "continue" | "stop";
  /** A second process shares the log. */
  readonly shared?: boolean;
  /** The most tokens of a turn, which then waits until more is allowed. */
  readonly budget?: number;
}

/** What the model does about a message, at its first call; after a tool it says its reply. */
type Plan = (
  word: string,
  hold: ReturnType<typeof gate>,
  reply: string,
  { prompt, isSpare }: { readonly prompt: Prompt; readonly isSpare: boolean },
) => ScriptedStep;
type Prompt = LanguageModelV4CallOptions["prompt"];

const plans = {
  say: (_word, _hold, reply) => saying(reply),
  stream: (_word, hold, reply) => saying("Begun. ", hold, reply),
  work: (word) => calling(call("work", "c", { key: word })),
  ask: (word) => calling(call("guarded", "c", { key: word })),
  askTwice: (word) =>
    calling(call("guarded", "c", { key: word }), call("guarded", "c", { key: `${word}-other` })),
  workTwice: (word) =>
    calling(call("work", "c", { key: word }), call("count", "c", { number: word.length })),
  spend: (word) => ({
    ...calling(call("count", "c", { number: word.length })),
    usage: {
      inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 40_000, text: 40_000, reasoning: 0 },
    },
  }),
  question: (word) => calling(call("asking", "c", { key: word })),
  client: (word) => calling(call("remote", "c", { key: word })),
  delegate: (word) => calling(call("helper", "c", { task: `«${word}-task»` })),
  retry: (_word, hold, reply) =>
    opened.has(hold) ? saying(reply) : { failure: failure(529, "Overloaded") },
  failOver: (_word, hold, reply, { isSpare }) =>
    isSpare ? saying("Begun. ", hold, reply) : { failure: failure(401, "Wrong key") },
  failOverAsking: (word, _hold, _reply, { isSpare }) =>
    isSpare ? calling(call("guarded", "c", { key: word })) : { failure: failure(401, "Wrong key") },
  refuse: (_word, hold, reply, { prompt }) =>
    prompt.some(({ role }) => role === "assistant")
      ? { failure: failure(400, "messages.1.content.0: Invalid `signature` in `thinking` block") }
      : saying("Begun. ", hold, reply),
} satisfies Readonly<Record<string, Plan>>;

export type PlanName = keyof typeof plans;

const opened = new WeakSet<ReturnType<typeof gate>>();

function failure(statusCode: number, message: string): APICallError {
  const url = "https://provider.invalid";
  return new APICallError({ message, url, requestBodyValues: {}, statusCode });
}

/** A call as the model asked for it, as a person was shown it, or as a tool ran it. */
interface Called {
  readonly toolName: string;
  readonly input: unknown;
}

const appEvents = defineEvents({ "app.noted": z.object({ note: z.string() }) });
type Events = (typeof appEvents)["schemas"];
export type StageRuntime = Runtime<Events>;
export type StageSession = Session<Events>;

/** `full`: nothing can be written. `away`: nothing can be read either, and who follows is cut off. */
export type Trouble = "full" | "away";

const troubles: Readonly<Record<Trouble, TurnlogError>> = {
  full: new TurnlogError("LOG_FULL", "The disk is full."),
  away: new TurnlogError("LOG_FAILED", "The database is away."),
};

const written = ["append", "fork", "delete", "saveSnapshot", "cursors.save"] as const;

interface Process {
  readonly log: SeverableLog;
  readonly failing: FailingLog;
  readonly runtime: StageRuntime;
}

/** Covers all that was said before the newest message. */
export const newest: CompactionStrategy = {
  name: "newest",
  plan: ({ items }) => {
    const request = items.findLast(({ kind }) => kind === "user");
    if (request === undefined || request.position < 2) return undefined;
    return { covers: { from: 1, to: request.position - 1 }, summary: "Earlier messages." };
  },
};

/** Long enough that a compaction gains by leaving it out. */
const padding = " and so on".repeat(40);

export class Stage implements AsyncDisposable {
  readonly time = testTime();
  readonly asked: Called[] = [];
  readonly approved: Called[] = [];
  /** The tools whose calls were approved for good, shown or not. */
  readonly standing = new Set<string>();
  readonly ran: Called[] = [];
  readonly warnings: string[] = [];
  readonly #options: StageOptions;
  readonly #store: EventLog;
  readonly #share: (() => EventLog) | undefined;
  readonly #keys = memoryKeys();
  readonly #plans = new Map<string, Plan>();
  readonly #holds = new Map<string, ReturnType<typeof gate>>();
  readonly #models: ScriptedModel[] = [];
  readonly #replies = new Map<string, number>();
  #isHolding = true;
  #trouble: Trouble = "away";
  #process: Process | undefined;
  #other: StageRuntime | undefined;

  private constructor(options: StageOptions, store: EventLog) {
    this.#options = options;
    this.#store = store;
    this.#share = options.shared === true ? sharedLog(store) : undefined;
  }

  static async open(options: StageOptions): Promise<Stage> {
    const stage = new Stage(options, await openMemoryLog());
    await stage.start();
    return stage;
  }

  /** The runtime of the process that runs the sessions. */
  get runtime(): StageRuntime {
    if (this.#process === undefined) throw new Error("No process runs.");
    return this.#process.runtime;
  }

  /** The log as a reader sees it, without faults. Its runtime decrypts it. */
  get log(): EventLog {
    return this.runtime.log;
  }

  /** How many events the store has, whatever troubles there are. */
  async written(): Promise<number> {
    let written = 0;
    for await (const { revision } of this.#store.list()) written += revision;
    return written;
  }

  /** The runtime of another process on the same log. */
  async other(): Promise<StageRuntime> {
    this.#other ??= await this.#createRuntime(this.#openLog());
    return this.#other;
  }

  async start(): Promise<void> {
    const log = severableLog(this.#openLog());
    const failing = failingLog(log, () => troubles[this.#trouble]);
    this.#process = { log, failing, runtime: await this.#createRuntime(failing.log) };
  }

  /** The process dies: what it still does reaches nobody. */
  kill(): void {
    this.#process?.log.sever();
    this.#process = undefined;
  }

  async close(): Promise<void> {
    await this.#process?.runtime.close();
    this.#process = undefined;
  }

  /** The log of the process fails from now on. */
  fail(trouble: Trouble): void {
    this.#trouble = trouble;
    if (trouble === "away") return this.#process?.failing.outage();
    for (const method of written) this.#process?.failing.fails(method);
  }

  /** The log works again. */
  mend(): void {
    this.#process?.failing.back();
  }

  /** Decides what the model does about a message of that word. */
  plan(word: string, plan: PlanName, task?: PlanName): string {
    this.#plans.set(word, plans[plan]);
    if (task !== undefined) this.#plans.set(`${word}-task`, plans[task]);
    return `Do «${word}»${padding}.`;
  }

  hold(word: string): ReturnType<typeof gate> {
    const hold = this.#holds.get(word) ?? gate();
    this.#holds.set(word, hold);
    if (!this.#isHolding) open(hold);
    return hold;
  }

  /** Lets everything go on that waits for the test. */
  release(): void {
    this.#isHolding = false;
    for (const hold of this.#holds.values()) open(hold);
  }

  /** From now on models and tools wait again, where a plan says so. */
  holdAgain(): void {
    this.#isHolding = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.mend();
    this.release();
    await this.#other?.close();
    await this.close();
    await this.#store.close();
  }

  #openLog(): EventLog {
    return this.#share?.() ?? this.#store;
  }

  async #createRuntime(log: EventLog): Promise<StageRuntime> {
    const { encrypted = false, idleAfterMs = 3_600_000, recovery = "continue" } = this.#options;
    const { budget: tokens } = this.#options;
    const { clock, timer: held } = this.time;
    // A tool that was stopped is given up at once.
    const timer: Timer = (milliseconds, due, wait) =>
      wait.kind === "grace" ? systemTimer(1, due, wait) : held(milliseconds, due, wait);
    return await createRuntime({
      log,
      agent: this.agent,
      events: appEvents,
      recovery,
      resume: "all",
      idleAfterMs,
      maxRecoveries: 100,
      onWarning: ({ code, message }) => this.warnings.push(`${code}: ${message}`),
      ...(tokens === undefined ? {} : { limits: { turn: { tokens, hold: true } } }),
      ...(encrypted ? { encryption: { keys: this.#keys } } : {}),
      testing: { clock, timer, random: () => 0.5 },
    });
  }

  get agent(): Agent {
    const model = this.#model(false);
    const spare = { ...this.#model(true), provider: "spare" };
    // The other circumstances keep to the first model.
    const fallback = [{ model: spare, when: ["authentication"] as const }];
    const tools = this.#tools();
    const context = { compact: { when: manual(), how: newest } };
    const toolApproval = { guarded: "user-approval" } as const;
    const agent = { model, fallback, tools, context, toolApproval };
    const helper = agentTool({ agent, description: "Does a task." });
    return { ...agent, tools: { ...tools, helper } };
  }

  /** A call has its signal, whose reason has the stack of the actor that aborted it. */
  forgetCalls(): void {
    for (const { calls } of this.#models) Reflect.set(calls, "length", 0);
  }

  #model(isSpare: boolean): ScriptedModel {
    const model = this.#scripted(isSpare);
    this.#models.push(model);
    return model;
  }

  #scripted(isSpare: boolean): ScriptedModel {
    return scriptedModel(({ prompt }) => {
      const { word, acted } = requestOf(prompt);
      const replies = (this.#replies.get(word) ?? 0) + 1;
      this.#replies.set(word, replies);
      const reply = `Reply ‹${word}.${replies}›${padding}.`;
      const plan: Plan = acted ? plans.say : (this.#plans.get(word) ?? plans.say);
      const step = plan(word, this.hold(word), reply, { prompt, isSpare });
      const parts = typeof step === "string" ? [] : (step.parts ?? []);
      this.asked.push(...parts.filter((part) => part.type === "tool-call"));
      return step;
    });
  }

  #tools() {
    const keyed = z.object({ key: z.string() });
    const run = async (toolName: string, input: unknown, signal: AbortSignal | undefined) => {
      this.ran.push({ toolName, input });
      const word = keyed.safeParse(input).data?.key ?? "";
      if (toolName === "work") await unlessAborted(this.hold(word).until, signal);
      return `Done ${word}`;
    };
    return {
      work: tool({ inputSchema: keyed, execute: (input, o) => run("work", input, o.abortSignal) }),
      guarded: tool({ inputSchema: keyed, execute: (input) => run("guarded", input, undefined) }),
      count: tool({
        inputSchema: z.object({ number: z.number() }),
        execute: (input) => run("count", input, undefined),
      }),
      asking: tool({
        inputSchema: keyed,
        execute: (input, options) => {
          const url = "https://stage.test/login";
          askPerson(options, { kind: "login-required", from: "stage", url });
          return run("asking", input, undefined);
        },
      }),
      remote: tool({ inputSchema: keyed, outputSchema: z.string() }),
    };
  }
}

function open(hold: ReturnType<typeof gate>): void {
  opened.add(hold);
  hold.open();
}

async function unlessAborted(
  until: PromiseLike<unknown>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([until, aborted.promise]);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** The last message of the prompt that has a word, and whether tools have answered since. */
function requestOf(prompt: Prompt): {
  readonly word: string;
  readonly acted: boolean;
} {
  const wordIn = (message: unknown): string | undefined =>
    /«([\w-]+)»/.exec(JSON.stringify(message))?.[1];
  const last = prompt.findLastIndex(
    (message) => message.role === "user" && wordIn(message) !== undefined,
  );
  return {
    word: wordIn(prompt[last]) ?? "none",
    acted: prompt.slice(last + 1).some(({ role }) => role === "tool"),
  };
}
