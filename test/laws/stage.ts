/** Plays a session for a recording: with a given clock, and with processes that can die. */

import {
  createRuntime,
  encryptedLog,
  openMemoryLog,
  type Agent,
  type EventLog,
  type KeyStore,
  type Session,
} from "../../src/public/index.ts";
import type { RecoveryPolicy, SessionEvent } from "../../src/events/index.ts";
import type { SessionState } from "../../src/state/index.ts";
import { deterministic } from "../support/deterministic.ts";
import { watchLiveStates } from "../support/live-states.ts";
import { storedEvents } from "../support/replay.ts";
import { settledTimer } from "../support/settled-timer.ts";
import { severableLog } from "../support/severed-log.ts";
import { viewProblems } from "../support/view-problems.ts";

export interface Stage {
  /** Opens the session, as a new process would when there was one before. */
  readonly open: (agent: Agent, recovery?: RecoveryPolicy) => Promise<Session>;
  /** Ends the process: everything that it does from now on is lost. */
  readonly die: () => void;
  /** Lets milliseconds pass in which nothing happens. */
  readonly pass: (milliseconds: number) => void;
}

export interface Played {
  readonly events: readonly SessionEvent[];
  /** The state that the live session held, at every position but the last. */
  readonly live: readonly SessionState[];
  /** Problems of the view of the session at its end. */
  readonly problems: readonly string[];
}

export const SESSION = "recorded";

export async function play(
  script: (stage: Stage) => Promise<Session>,
  { hashChain = false, keys }: { readonly hashChain?: boolean; readonly keys?: KeyStore } = {},
): Promise<Played> {
  using watched = watchLiveStates();
  await using log = await openMemoryLog();
  const read = keys === undefined ? log : encryptedLog(log, keys);
  const stage = stageOn(log, { session: SESSION, hashChain, keys });
  const session = await script({
    ...stage,
    die: () => {
      stage.die();
      watched.forgetActors();
    },
  });
  await session.idle();
  const played = {
    problems: await viewProblems(session, read),
    events: await storedEvents(read, SESSION),
    live: watched.seen(SESSION),
  };
  // Its runtime would warn a minute later that it can store no snapshot in the closed log.
  stage.die();
  return played;
}

interface StageOptions {
  readonly session: string;
  readonly hashChain?: boolean;
  readonly keys?: KeyStore | undefined;
}

/** A stage whose session is stored in a log, which may have other sessions. */
export function stageOn(log: EventLog, { session, hashChain = false, keys }: StageOptions): Stage {
  const encryption = keys === undefined ? {} : { encryption: { keys } };
  const given = deterministic();
  let passed = 0;
  const options = {
    ...encryption,
    testing: { ...given, timer: settledTimer(), clock: () => given.clock() + passed },
    graceMs: 1,
    hashChain,
  };
  let recorder = severableLog(log);
  return {
    open: async (agent, recovery = "stop") => {
      recorder = severableLog(log);
      const runtime = await createRuntime({ ...options, log: recorder, agent, recovery });
      return await runtime.session(session);
    },
    die: () => {
      recorder.sever();
    },
    pass: (milliseconds) => {
      passed += milliseconds;
    },
  };
}
