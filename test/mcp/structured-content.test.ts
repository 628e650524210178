/** Structured content of a result: the model gets it wherever it says more than the content. */

import { expect, it } from "vitest";
import { replay } from "../../src/replay/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { call, calling } from "../support/script.ts";
import { png } from "../support/media.ts";
import { openSession } from "../support/with-runtime.ts";
import { ownServer } from "./own-servers.ts";

/** The model output of each of these results, by a server that gives them and a session. */
async function told(...results: readonly object[]): Promise<readonly unknown[]> {
  await using folder = await temporaryFolder();
  const calls = results.map((result, index) => {
    const line = JSON.stringify({ jsonrpc: "2.0", id: "ID", result });
    return call("own__raw", `c${index}`, { line });
  });
  const model = scriptedModel([calling(...calls), "Done."]);
  await using open = await openSession({ model }, { mcp: { own: ownServer(folder) } });
  await (
    await open.session.send("Go.")
  ).result;
  const answer = model.calls.at(-1)?.prompt.findLast(({ role }) => role === "tool");
  return answer?.role === "tool"
    ? answer.content.map((part) => ("output" in part ? part.output : part))
    : [];
}

const texts = (...all: readonly string[]): readonly object[] =>
  all.map((text) => ({ type: "text", text }));

const picture = png({ width: 60, height: 40, seed: 1 }).toString("base64");
const image = { type: "image", mimeType: "image/png", data: picture };

it.each([
  [
    "whose values stand in texts, but not which is which",
    { winner: "bob", loser: "alice" },
    ["alice", "bob"],
  ],
  ["whose value is the name of a kind of part", { kind: "text" }, ["hi"]],
  ["one of several texts", { result: "bob" }, ["bob", "alice"]],
  ["an empty list beside nothing", { result: [] }, []],
  ["a list in another order", { result: ["bob", "alice"] }, ["alice", "bob"]],
  ["a field with a name that says something", { winner: "bob" }, ["bob"]],
  ["a wrapped value beside another field", { result: "bob", score: 7 }, ["bob"]],
  ["beside half of it as JSON", { a: 1, b: 2 }, ['{"a":1}']],
] as const)("is told where it says more: %s", async (_, structuredContent, said) => {
  expect(await told({ content: texts(...said), structuredContent })).toEqual([
    { type: "content", value: texts(...said, JSON.stringify(structuredContent)) },
  ]);
});

it.each([
  ["as JSON, in other words and order", { a: 1, b: [2] }, texts("Look:", '{ "b": [2],\n "a": 1 }')],
  ["as the text that it wraps", { content: "hello" }, texts("hello")],
  ["as the number that it wraps", { result: 5 }, texts("5")],
  ["as the texts of its list", { result: ["a", { b: 1 }] }, texts("a", '{"b":1}')],
])("is left out where the content has it: %s", async (_, structuredContent, content) => {
  expect(await told({ content, structuredContent })).toEqual([{ type: "content", value: content }]);
});

it("is left out where it is the content itself, media and all", async () => {
  const content = [...texts("Look:"), image];
  const [shown] = await told({ content, structuredContent: { content } });
  expect(shown).toMatchObject({ value: [{ text: "Look:" }, { type: "file" }] });
});

it("is seen where it holds pictures, of a failure too", async () => {
  const structuredContent = { title: "page", shots: [picture, `data:image/png;base64,${picture}`] };
  const all = await told({ structuredContent }, { structuredContent, isError: true });
  const file = { type: "file", mediaType: "image/png", data: { data: picture } };
  const text = {
    text: '{"title":"page","shots":["[file 1 behind this text]","[file 2 behind this text]"]}',
  };
  expect(all).toMatchObject([
    { value: [text, file, file] },
    { value: [{ type: "text" }, text, file, file] },
  ]);
});

it("is the same where a replay reads it again, with content beside the log", async () => {
  await using folder = await temporaryFolder();
  const data = png({ width: 300, height: 200, seed: 1 }).toString("base64");
  const address = `data:image/png;base64,${data}`;
  // Of no kind that anybody knows.
  const bytes = Buffer.from(data, "base64").subarray(99).toString("base64");
  const results = [
    { content: [{ type: "image", data }] },
    { content: [{ type: "image", data: address }] },
    { content: [{ type: "resource", resource: { uri: "file:///a", blob: data } }] },
    { content: [], structuredContent: { data, address, bytes, said: `See ${address}.` } },
    { content: texts(JSON.stringify({ address })), structuredContent: { address } },
  ];
  const calls = results.map((result, index) => {
    const line = JSON.stringify({ jsonrpc: "2.0", id: "ID", result });
    return call("own__raw", `c${index}`, { line });
  });
  const agent = { model: scriptedModel([]) };
  const model = scriptedModel([calling(...calls), "Done."]);
  await using open = await openSession({ model }, { mcp: { own: ownServer(folder) } });
  await (
    await open.session.send("Go.")
  ).result;
  const events = await open.events();
  expect(events.some(({ type }) => type === "blob.stored")).toBe(true);
  expect(await replay(events, agent)).toEqual({
    events: events.length,
    parts: expect.anything() as unknown,
  });
});

it("reaches the model once, after a failure as after a success", async () => {
  const structuredContent = { code: 42, retryAfter: 17 };
  const json = JSON.stringify(structuredContent);
  const failed = { isError: true, structuredContent };
  const [withText, withJson, alone, withMedia] = await told(
    { ...failed, content: texts("It failed") },
    { ...failed, content: texts(json) },
    failed,
    { ...failed, content: [image] },
  );
  expect(withText).toEqual({ type: "error-text", value: `It failed\n${json}` });
  expect(withJson).toEqual({ type: "error-text", value: json });
  expect(alone).toEqual({ type: "error-text", value: json });
  expect(withMedia).toMatchObject({
    value: [{ type: "text" }, { type: "file" }, { type: "text", text: json }],
  });
});
