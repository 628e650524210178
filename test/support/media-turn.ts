/** A turn with a picture wherever one may be: in the message, in what a tool answers and in the reply. */

import { jsonSchema, tool } from "ai";
import type { BlobStore } from "../../src/events/index.ts";
import { createRuntime, type EventLog } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { call } from "./script.ts";

/** Of session `s`. Resolves when it is over; the runtime is closed by then. */
export async function mediaTurn(
  log: EventLog,
  store: BlobStore,
  [sent, answered, made]: readonly (Buffer | undefined)[],
): Promise<void> {
  const data = { type: "data", data: made?.toString("base64") ?? "" } as const;
  const file = { type: "file", data, mediaType: "image/png" } as const;
  const look = tool({
    inputSchema: jsonSchema({}),
    execute: () => ({ screen: answered?.toString("base64") }),
  });
  const parts = [{ type: "raw-part", part: file } as const, call("look", "1")];
  const agent = { model: scriptedModel([{ parts }, "Done."]), tools: { look } };
  await using runtime = await createRuntime({ log, agent, blobs: { store } });
  const session = await runtime.session("s");
  const message = { type: "file", data: sent ?? "", mediaType: "image/png" } as const;
  await (
    await session.send([message])
  ).result;
}
