/** `toolSearch()` in a session: what was found stays, through turns and restarts, and not through a rewind. */

import { tool, toolSearch, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel, type Script, type ScriptedModel } from "../../src/models/index.ts";
import { createRuntime, openMemoryLog, type Agent } from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { call, calling } from "../support/script.ts";
import { storedEvents } from "../support/replay.ts";
import { openSession } from "../support/with-runtime.ts";

const inputSchema = z.object({});
const tools: ToolSet = {
  search: toolSearch(),
  sendMail: tool({ deferLoading: true, inputSchema, execute: () => "sent" }),
  readMail: tool({ deferLoading: true, inputSchema, execute: () => "read" }),
  clock: tool({ inputSchema, execute: () => "noon" }),
};
const found: Script = [calling(call("search", "s", { query: "send" })), "Found."];
const all = ["search", "sendMail", "clock"];

const sent = ({ calls }: ScriptedModel): readonly (readonly string[])[] =>
  calls.map((one) =>
    (one.tools ?? []).map(({ name }) => name).filter((name) => name !== "read_tool_output"),
  );

describe.each(["language-model-call", "stream-text"] as const)("by way of %s", (stepSource) => {
  it("a tool that was found is sent from the next step on, and in later turns", async () => {
    const model = scriptedModel([...found, calling(call("sendMail", "m")), "Sent."]);
    await using open = await openSession({ model, tools }, { stepSource });
    await (
      await open.session.send("Find it.")
    ).result;
    await (
      await open.session.send("Send it.")
    ).result;
    expect(sent(model)).toEqual([["search", "clock"], all, all, all]);
    const { toolCalls } = await open.session.view();
    expect(toolCalls.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
  });
});

it("another process sends what was found before", async () => {
  await using log = await openMemoryLog();
  for (const [script, expected] of [
    [found, [["search", "clock"], all]],
    [["Hello."], [all]],
  ] as const) {
    const model = scriptedModel(script);
    await using runtime = await createRuntime({ log, agent: { model, tools } });
    await (
      await (await runtime.session("s")).send("Go on.")
    ).result;
    expect(sent(model)).toEqual(expected);
  }
});

it("a replay asks no search again, and sends the tools that were found", async () => {
  let searches = 0;
  const search = toolSearch({ search: () => ((searches += 1), ["sendMail"]) });
  const script: Script = [
    calling(call("sendMail", "early"), call("search", "s", { query: "send" })),
    calling(call("sendMail", "m")),
    "Sent.",
  ];
  const model = scriptedModel(script);
  const own = { ...tools, search };
  await using open = await openSession({ model, tools: own });
  await (
    await open.session.send("Send it.")
  ).result;
  const events = await storedEvents(open.log, open.session.id);
  const replayed = await replay(events, { model: scriptedModel([]), tools: own });
  expect(replayed).toEqual({ events: events.length, parts: expect.anything() as unknown });
  expect(searches).toBe(1);
});

it("what a turn found that was rewound is not sent", async () => {
  const model = scriptedModel([...found, "Hello."]);
  await using open = await openSession({ model, tools });
  await (
    await open.session.send("Find it.")
  ).result;
  await open.session.rewind({ beforeTurn: 1 });
  await (
    await open.session.send("Hi.")
  ).result;
  expect(sent(model).at(-1)).toEqual(["search", "clock"]);
});

it.each<readonly [string, ToolSet, string]>([
  [
    "a deferred tool without a search",
    { mail: { ...tools["sendMail"] } as never },
    "add `toolSearch()`",
  ],
  [
    "a deferred search",
    { search: { ...toolSearch(), deferLoading: true } },
    "must not defer its own loading",
  ],
])("%s is refused", async (_, wrong, sentence) => {
  const agent: Agent = { model: scriptedModel([]), tools: wrong };
  await expect(createRuntime({ memory: true, agent })).rejects.toThrow(sentence);
});
