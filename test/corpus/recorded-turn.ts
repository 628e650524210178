/** A stream of the corpus run as a turn, and what was recorded of it. */

import type { SessionEvent } from "../../src/events/index.ts";
import {
  createRuntime,
  openMemoryLog,
  type Agent,
  type RuntimeOptions,
} from "../../src/public/index.ts";
import type { WireRow } from "./wire-manifest.ts";
import { wireModel } from "./wire-model.ts";
import type { WireServer } from "./wire-server.ts";

export type Source = NonNullable<RuntimeOptions["stepSource"]>;

export interface RecordedTurn {
  readonly agent: Agent;
  readonly events: readonly SessionEvent[];
  readonly error: unknown;
}

export async function recordedTurn(
  row: WireRow,
  server: WireServer,
  stepSource: Source,
  providerOptions?: Agent["providerOptions"],
): Promise<RecordedTurn> {
  const { model, tools } = wireModel(row, server.url);
  const agent: Agent = {
    model,
    tools: Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => [name, { ...tool, needsApproval: false }]),
    ),
    maxSteps: 2,
    maxRetries: 0,
    // The SDK's own loop, with which it is compared, has the agent's tools and no others.
    context: { cut: { reader: false } },
    ...(providerOptions === undefined ? {} : { providerOptions }),
  };
  const log = await openMemoryLog();
  await using runtime = await createRuntime({ log, stepSource, agent });
  const session = await runtime.session("recorded");
  const turn = await session.send("Please go on.");
  const error = await turn.result.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { agent, events: await Array.fromAsync(log.read("recorded")), error };
}
