/** Loads what a session loads when it first opens: in held time nothing may wait for the disk. */

import { createRuntime } from "../../src/runtime/index.ts";
import { scriptedModel } from "../../src/models/index.ts";

export async function loadAll(): Promise<void> {
  const agent = { model: scriptedModel(["Hello.", "Hello."]) };
  for (const stepSource of ["language-model-call", "stream-text"] as const) {
    await using runtime = await createRuntime({ memory: true, agent, stepSource });
    const session = await runtime.session("s");
    const { result } = await session.send("Hello.");
    await result;
  }
}
