/** Media that an agent's own functions make again in a replay: they are the recorded files. */

import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { compare } from "../../src/compare/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import type { Agent } from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { ask } from "../support/asking.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";

const page = "JVBERi0xLjQK";

function agentThatShows(bytes: number): Agent {
  const dataOf = (size: number): string =>
    Buffer.concat([Buffer.from(page, "base64"), Buffer.alloc(size)]).toString("base64");
  const show = tool({
    inputSchema: z.object({}),
    execute: () => "page 1",
    toModelOutput: ({ toolCallId }) => ({
      type: "content",
      value: [
        {
          type: "file",
          mediaType: "application/pdf",
          data: { type: "data", data: dataOf(bytes * Number(toolCallId)) },
        },
      ],
    }),
  });
  const calls = calling(call("show", "1", {}), call("show", "2", {}));
  return { model: scriptedModel([calls, "I see."]), tools: { show } };
}

it.each([
  ["the usual sizes", 8000, {}],
  ["sizes of the runtime's own", 300, { blobs: { inlineBytes: 100 } }],
])("files of %s that `toModelOutput` makes are no difference", async (_, bytes, options) => {
  await using open = await openSession(agentThatShows(bytes), options);
  await ask(open.session, "Show it.");
  const events = await open.events();
  expect(events.map(({ type }) => type)).toContain("blob.stored");
  expect((await replay(events, agentThatShows(bytes))).difference).toBeUndefined();
  const report = await compare(open.runtime.log, {
    agent: agentThatShows(bytes),
    recordedAgent: agentThatShows(bytes),
  });
  expect(report.counts).toMatchObject({ equal: 1, replayed: 1 });
});
