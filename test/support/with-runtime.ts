/** A session in memory, for tests of what a runtime promises. */

import {
  createRuntime,
  openMemoryLog,
  type Agent,
  type EventLog,
  type Runtime,
  type RuntimeOptions,
  type Session,
} from "../../src/public/index.ts";
import { impatientTimer } from "./impatient-timer.ts";
import { lawProblems } from "./law-problems.ts";
import { storedEvents } from "./replay.ts";
import type { SessionEvent } from "../../src/events/index.ts";

export type OpenOptions = Partial<
  Pick<
    RuntimeOptions,
    | "attachments"
    | "blobs"
    | "contextFor"
    | "hashChain"
    | "limits"
    | "mcp"
    | "meter"
    | "recovery"
    | "maxRecoveries"
    | "stepSource"
    | "idleAfterMs"
    | "graceMs"
    | "onWarning"
  >
> &
  Pick<NonNullable<RuntimeOptions["testing"]>, "clock" | "timer" | "newId" | "random"> & {
    /** Default: a new one in memory. */
    readonly log?: EventLog;
  };

/** A runtime with one session; closed, and held against every law, when it goes out of scope. */
export interface OpenSession extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly session: Session;
  readonly log: EventLog;
  /** Everything that is in the log. */
  events(): Promise<SessionEvent[]>;
  /** What was recorded, by type. */
  types(): Promise<readonly string[]>;
}

/** Without the keys that have no value. */
function given(options: {
  readonly [Key in keyof NonNullable<RuntimeOptions["testing"]>]:
    | NonNullable<RuntimeOptions["testing"]>[Key]
    | undefined;
}): NonNullable<RuntimeOptions["testing"]> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** By itself it does not wait between attempts of a model call. */
export async function openSession(agent: Agent, options: OpenOptions = {}): Promise<OpenSession> {
  const { clock, timer = impatientTimer, newId, random, ...others } = options;
  const log = options.log ?? (await openMemoryLog());
  const testing = { clock, timer, newId, random };
  const runtime = await createRuntime({
    graceMs: 1,
    ...others,
    testing: given(testing),
    log,
    agent,
  });
  const session = await runtime.session("s");
  const events = (): Promise<SessionEvent[]> => storedEvents(log, session.id);
  return {
    runtime,
    session,
    log,
    events,
    types: async () => (await events()).map(({ type }) => type),
    async [Symbol.asyncDispose]() {
      await runtime.close();
      const problems = lawProblems(await events());
      if (options.log === undefined) await log.close();
      if (problems.length > 0) throw new Error(`Laws were broken:\n${problems.join("\n")}`);
    },
  };
}

/** The same session on the same log, as a new process would open it. */
export async function reopen(
  { runtime, log }: OpenSession,
  agent: Agent,
  options: OpenOptions = {},
): Promise<OpenSession> {
  await runtime.close();
  return await openSession(agent, { ...options, log });
}
