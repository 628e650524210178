/** The message of a reply while its chunks come. */

import { expect, it } from "vitest";
import { openMessage, messageOf, withChunk } from "../../src/ui/open-message.ts";
import type { SessionChunk } from "../../src/ui/index.ts";

it("an outcome that comes in a later step is that of the newest step that has the call", () => {
  const made: SessionChunk = {
    type: "tool-input-available",
    toolCallId: "c",
    toolName: "x",
    input: {},
  };
  const chunks: readonly SessionChunk[] = [
    { type: "start-step" },
    made,
    { type: "start-step" },
    made,
    { type: "start-step" },
    { type: "tool-output-available", toolCallId: "c", output: 1 },
  ];
  const { parts } = messageOf(chunks.reduce(withChunk, openMessage("r")));
  const states = parts.flatMap((part) => ("state" in part ? [part.state] : []));
  expect(states).toEqual(["input-available", "output-available"]);
});
