/** An agent in whose turn pictures come from everywhere. */
import { jsonSchema, tool } from "ai";
import type { Agent } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { png } from "../support/media.ts";
import { call } from "../support/script.ts";

/** The id of its only message. */
export const MESSAGE = "the-message";

export function picture(seed: number): Buffer {
  return png({ width: 80, height: 70, seed });
}

/** The model draws and calls its tool as long as there is no answer, and then is done. */
export function mediaAgent(): Agent {
  const data = { type: "data", data: picture(2).toString("base64") } as const;
  const file = { type: "raw-part", part: { type: "file", data, mediaType: "image/png" } } as const;
  const look = tool({
    inputSchema: jsonSchema({}),
    execute: () => ({ screen: picture(1).toString("base64") }),
  });
  const model = scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === "tool") ? "Done." : { parts: [file, call("look", "1")] },
  );
  return { model, tools: { look } };
}
