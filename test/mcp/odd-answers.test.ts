/** Answers that are not what the protocol asks for: each concerns its own call, and costs nobody the server. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mcpModelOutput } from "../../src/mcp/mcp-output.ts";
import { callAnswer, mediaOf } from "../../src/mcp/mcp-result.ts";
import { PendingRequests } from "../../src/mcp/pending-requests.ts";
import { RunningServer } from "../../src/mcp/mcp-server.ts";
import { temporaryFolder, type TemporaryFolder } from "../cli/temporary-folder.ts";
import { ownServer, pidsIn } from "./own-servers.ts";

/** What becomes of a call that is answered with this line: what the model is given, or the words of its failure. */
async function outcome(server: RunningServer, line: string): Promise<unknown> {
  try {
    return mcpModelOutput(await server.call("raw", { line }));
  } catch (error) {
    return error;
  }
}

/** A pause would make the calls after it fail, and another process would be noted. */
async function expectAlive(server: RunningServer): Promise<void> {
  expect(await server.call("say", {})).toMatchObject({ isError: false });
}

/** One server for all answers that cost nobody the server. */
let shared: { readonly folder: TemporaryFolder; readonly server: RunningServer };
beforeAll(async () => {
  const folder = await temporaryFolder();
  shared = { folder, server: new RunningServer("own", ownServer(folder), Date.now) };
});
afterAll(async () => {
  await shared.server.close();
  await shared.folder[Symbol.asyncDispose]();
});

const json = (result: unknown): string => JSON.stringify({ jsonrpc: "2.0", id: "ID", result });
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const text = { type: "text", text: "hello" };
const image = { type: "file", mediaType: "image/png", data: { type: "data", data: png } };
const words = (pattern: RegExp): unknown => ({
  type: "text",
  text: expect.stringMatching(pattern) as unknown,
});

describe("of an answer with parts that are broken", () => {
  it.each([
    [
      "an image that does not say of what kind it is",
      [text, { type: "image", data: png }],
      [text, image],
    ],
    [
      "an image of which nothing tells of what kind it is",
      [text, { type: "image", data: "aGVsbG8=" }],
      [text, words(/^\[The image is not shown here/)],
    ],
    [
      "an image whose base64 has lines, or the alphabet of addresses, or is in an address",
      [
        { type: "image", mimeType: "image/png", data: `${png.slice(0, 76)}\n${png.slice(76)}\n` },
        { type: "image", mimeType: "", data: png.replaceAll("+", "-").replaceAll("/", "_") },
        { type: "image", mimeType: "image/png", data: `data:image/png;base64,${png}` },
      ],
      [image, image, image],
    ],
    [
      "data that is no base64",
      [{ type: "image", mimeType: "image/png", data: "%%%" }, text],
      [words(/image\/png.*base64/), text],
    ],
    [
      "data that is no base64, of no kind",
      [{ type: "image", data: "%%%" }, { type: "audio", data: "" }, text],
      [words(/not shown here.*base64/), words(/not shown here.*empty/), text],
    ],
    [
      "data that is an address, or the name of a file that a provider has",
      [
        { type: "image", mimeType: "image/png", data: "http://127.0.0.1/secret.png" },
        { type: "audio", mimeType: "audio/wav", data: "file-abcdefgh" },
      ],
      [words(/image\/png.*base64/), words(/audio\/wav/)],
    ],
    [
      "a resource without content",
      [{ type: "resource", resource: { uri: "file:///a" } }],
      [words(/file:\/\/\/a/)],
    ],
    [
      "a link without a name",
      [{ type: "resource_link", uri: "file:///a" }],
      [words(/file:\/\/\/a/)],
    ],
    [
      "parts that are none",
      ["hello", null, 5, { type: "text" }],
      [text, words(/^null$/), words(/^5$/), words(/^\{"type":"text"\}$/)],
    ],
  ])("what there is of it is shown: %s", async (_, content, value) => {
    const { server, folder } = shared;
    expect(await outcome(server, json({ content }))).toEqual({ type: "content", value });
    await expectAlive(server);
    expect(pidsIn(folder)).toHaveLength(1);
  });
});

const wellMeant = JSON.stringify({ content: [text] });

describe("of a message that is not quite one", () => {
  it.each([
    [
      "null for what is not there",
      `{"jsonrpc":"2.0","id":ID,"error":null,"result":{"isError":null,"structuredContent":null,"_meta":null,"content":[{"type":"text","text":"hello"}]}}`,
    ],
    ["no version, and a field too many", `{"id":ID,"took":5,"result":${wellMeant}}`],
    ["in a list", `[{"jsonrpc":"2.0","id":ID,"result":${wellMeant}}]`],
  ])("the result counts: %s", async (_, line) => {
    expect(await outcome(shared.server, line)).toEqual({ type: "content", value: [text] });
  });
});

describe("an answer that nobody can make anything of", () => {
  it("fails its call at once, with what is wrong, and the server lives on", async () => {
    await using folder = await temporaryFolder();
    const mcp = { ...ownServer(folder), callTimeoutMs: Number.POSITIVE_INFINITY };
    const server = new RunningServer("own", mcp, Date.now);
    for (const [line, pattern] of [
      [json({ isError: "yes", content: [text] }), /result\.isError: .*boolean.*hello/],
      [json({ _meta: 5, content: [text] }), /result\._meta: .*object/],
      [json({ content: "hello" }), /result\.content: .*array.*hello/],
      [json(5), /result: .*object/],
      ['{"jsonrpc":"2.0","id":ID}', /result: .*object/],
      ['{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":NaN}}', /JSON/],
      ['{"id":"ID", "result":{"content":[', /JSON/],
      [json({ resultType: "input_required", inputRequests: 5 }), /no answer to raw/],
    ] as const) {
      expect(await outcome(server, line), line).toMatchObject({
        code: "MCP_SERVER_FAILED",
        details: { server: "own", trouble: "bad-answer" },
        message: expect.stringMatching(pattern) as unknown,
      });
    }
    await expectAlive(server);
    expect(pidsIn(folder)).toHaveLength(1);
    await server.close();
  });

  it("is the server's own word where it is an error, in whatever shape", async () => {
    await using folder = await temporaryFolder();
    const server = new RunningServer("own", ownServer(folder), Date.now);
    for (const error of ["no such file", { message: "no such file" }, { why: "no such file" }]) {
      const line = JSON.stringify({ jsonrpc: "2.0", id: "ID", error });
      expect(await outcome(server, line)).toMatchObject({
        code: "MCP_TOOL_FAILED",
        message: expect.stringContaining("no such file") as unknown,
      });
    }
    await server.close();
  });
});

it("a refusal that names an address asks a person to open it, be it one alone", () => {
  const elicitations = [{ mode: "url", url: "https://example.com/login", message: "Log in." }];
  const error = { code: -32_042, message: "Log in first.", data: { elicitations } };
  expect(callAnswer({ jsonrpc: "2.0", id: 1, error })).toEqual({
    kind: "asks",
    why: "Log in first.",
    questions: elicitations,
  });
});

it("media of a kind that a later protocol names are media, where they say what they are", () => {
  const video = { type: "video", data: "AAAA" };
  expect(mediaOf({ ...video, mimeType: "video/mp4" })).toMatchObject({ mimeType: "video/mp4" });
  expect(mediaOf(video)).toBeUndefined();
});

it("a list has the entries that can be used, with what is right of each", () => {
  const pending = new PendingRequests();
  pending.sent({ jsonrpc: "2.0", id: 1, method: "resources/list" });
  const named = { uri: "file:///a", name: "a" };
  const resources = [named, { uri: "file:///b", description: 7 }, { name: "nowhere" }];
  const [answer] = pending.read({ jsonrpc: "2.0", id: 1, result: { resources, nextCursor: 7 } });
  expect(answer).toMatchObject({ result: { resources: [named, { uri: "file:///b", name: "" }] } });
  expect(answer).not.toHaveProperty("result.nextCursor", 7);
});

it("text of a resource that was sent as base64 stays text with its address", () => {
  const blob = Buffer.from('{"a":1}').toString("base64");
  const resource = { uri: "file:///a.json", mimeType: "application/json", blob };
  expect(mcpModelOutput({ content: [{ type: "resource", resource }] })).toMatchObject({
    value: [
      {
        type: "text",
        text: JSON.stringify({ uri: resource.uri, mimeType: resource.mimeType, text: '{"a":1}' }),
      },
    ],
  });
});
