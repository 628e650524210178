/** The same work as a turnlog session: every part on disk, the turn's events consumed as they come. */

import { createRuntime } from "../src/public/index.ts";
import { Meter, type Cost } from "./meter.ts";
import { workloadModel, type Workload } from "./workload.ts";
import { workloadTools } from "./workload-tools.ts";

/** The session's id. */
export const SESSION = "bench";

export interface TurnlogVariant {
  readonly stepSource: "language-model-call" | "stream-text";
  readonly durability: "os" | "sync";
}

/** From the message to the store closed again; opening comes before the clock starts. */
export async function runTurnlog(
  workload: Workload,
  { stepSource, durability }: TurnlogVariant,
  dir: string,
): Promise<Cost> {
  const meter = new Meter(workload);
  const model = workloadModel(workload, (step, options) => {
    meter.call(step, options);
  });
  const agent = { model, tools: workloadTools(workload), maxSteps: workload.steps };
  const runtime = await createRuntime({ dir, durability, stepSource, agent });
  const session = await runtime.session(SESSION);
  meter.start();
  const turn = await session.send(workload.request);
  for await (const event of turn) {
    if (event.type === "part.text-delta") meter.saw(event.data.text);
  }
  await turn.result;
  meter.stepsEnd();
  await runtime.close();
  return meter.end();
}
