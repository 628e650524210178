/** A stage whose session is kept in a store, beside others. */

import { createRuntime, type EventLog, type KeyStore } from "../../src/public/index.ts";
import type { Stage } from "../laws/stage.ts";
import { deterministic } from "../support/deterministic.ts";
import { severableLog } from "../support/severed-log.ts";

interface StageOptions {
  readonly session: string;
  readonly hashChain?: boolean;
  readonly keys?: KeyStore;
}

export function stageOn(log: EventLog, { session, hashChain = false, keys }: StageOptions): Stage {
  const encryption = keys === undefined ? {} : { encryption: { keys } };
  const given = deterministic();
  let passed = 0;
  const options = {
    ...encryption,
    testing: { ...given, clock: () => given.clock() + passed },
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
