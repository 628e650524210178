/** What a server wants from a person while a call runs, what it reports, and its resources. */

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { McpServer } from "../../src/mcp/index.ts";
import { OpenMcpServers } from "../../src/mcp/mcp-servers.ts";
import type { CallQuestion } from "../../src/events/index.ts";
import { AskedPerson, type PersonAnswer } from "../../src/agent/index.ts";
import { mcpModelOutput } from "../../src/mcp/mcp-output.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { openSession } from "../support/with-runtime.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { ownHttpServer } from "./own-http-server.ts";
import { ownServer } from "./own-servers.ts";

const file = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/package.json",
);
const everything: McpServer = {
  command: process.execPath,
  args: [join(dirname(file), "dist/index.js")],
  resources: true,
  prompts: true,
};

interface Opened extends AsyncDisposable {
  readonly servers: OpenMcpServers;
  readonly asked: readonly CallQuestion[];
  readonly reported: readonly unknown[];
  readonly call: (tool: string, input?: Record<string, unknown>) => Promise<unknown>;
}

function opened(
  own: McpServer,
  answer: (question: CallQuestion) => PersonAnswer = () => ({ content: {} }),
): Opened {
  const onWarning = (error: Error): never => expect.unreachable(error.message);
  const around = { taken: new Set<string>(), onWarning, clock: Date.now };
  const servers = new OpenMcpServers({ own }, around);
  const asked: CallQuestion[] = [];
  const reported: unknown[] = [];
  return {
    servers,
    asked,
    reported,
    call: async (tool, input = {}) =>
      await servers.call({ server: "own", tool, name: tool, inputSchema: {} }, input, {
        turn: { session: "s" },
        onProgress: (progress) => reported.push(progress),
        ask: async (question) => {
          asked.push(question);
          return answer(question);
        },
      }),
    [Symbol.asyncDispose]: async () => await servers.close(),
  };
}

const containing = (text: string): unknown => expect.stringContaining(text) as unknown;

describe("a question of a server", () => {
  it("reaches the person as a form or an address, and the answer reaches the server", async () => {
    await using open = opened(everything, (question) =>
      question.kind === "form" ? { content: { name: "Ann", check: true } } : { content: {} },
    );
    const answer = JSON.stringify(await open.call("trigger-elicitation-request"));
    expect(answer).toContain("Ann");
    await open.call("trigger-url-elicitation", { url: "http://127.0.0.1:9/" });
    expect(open.asked).toMatchObject([
      { kind: "form", from: "own", message: containing(""), schema: { type: "object" } },
      { kind: "address", from: "own", url: "http://127.0.0.1:9/" },
    ]);
  });

  it.each(["json", "stream"] as const)(
    "comes by rounds at a server of the latest version (%s)",
    async (as) => {
      await using own = await ownHttpServer({ version: "2026-07-28", as });
      await using open = opened({ url: own.url }, () => ({
        content: { day: "Monday" },
      }));
      const inputResponses = { when: { action: "accept", content: { day: "Monday" } } };
      expect(await open.call("book")).toMatchObject({
        content: [{ text: JSON.stringify({ inputResponses, requestState: "state 1" }) }],
      });
      expect(open.asked).toMatchObject([{ kind: "form", message: "When?" }]);
    },
  );

  it("ends the call with what was thrown where the answer comes later", async () => {
    const question = {
      kind: "address",
      from: "own",
      message: "",
      url: "https://own.test",
    } as const;
    const later = new AskedPerson(question);
    for (const version of ["2025-11-25", "2026-07-28"] as const) {
      const own = await ownHttpServer({ version, as: "json" });
      await using open = opened(version === "2026-07-28" ? { url: own.url } : everything, () => {
        throw later;
      });
      const tool = version === "2026-07-28" ? "book" : "trigger-elicitation-request";
      await expect(open.call(tool)).rejects.toBe(later);
      await own[Symbol.asyncDispose]();
    }
  });
});

describe("a call that reports its progress", () => {
  it("is waited for longer than its limit, and its reports are shown, not all of them", async () => {
    await using folder = await temporaryFolder();
    await using open = opened({ ...ownServer(folder), callTimeoutMs: 900 });
    expect(await open.call("steps")).toEqual({ content: [], isError: false });
    expect(open.reported[0]).toEqual({ progress: 1, total: 12, message: "step 1" });
    expect(open.reported.length).toBeLessThan(5);
  });
});

describe("the prompts of a server", () => {
  it("are listed and got by tools, with their arguments", async () => {
    await using open = opened(everything);
    expect(JSON.stringify(await open.call("list_prompts"))).toContain("args-prompt");
    const asked = { name: "args-prompt", arguments: { city: "Ulm" } };
    expect(mcpModelOutput(await open.call("get_prompt", asked))).toMatchObject({
      value: [{ text: containing("Ulm") }],
    });
    await expect(open.call("get_prompt", { name: "none" })).rejects.toMatchObject({
      code: "MCP_SERVER_FAILED",
    });
  });
});

it("a tool of the server is called, and not ours of the same name", async () => {
  await using folder = await temporaryFolder();
  await using open = opened({ ...ownServer(folder, "prompts"), prompts: true });
  await open.servers.offer();
  expect(await open.call("get_prompt")).toMatchObject({ content: [{ text: "its own" }] });
});

describe("the resources of a server", () => {
  it("are listed and read, by the program and by tools", async () => {
    await using open = opened(everything);
    const listed = await open.servers.resources();
    const [resource = { server: "none", uri: "none" }] = listed;
    expect(resource).toMatchObject({ server: "own", name: expect.any(String) as unknown });
    const contents = await open.servers.read("own", resource.uri);
    expect(contents).toMatchObject([{ uri: resource.uri }]);
    const names = (await open.servers.offer()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["own__list_resources", "own__read_resource"]));
    expect(JSON.stringify(await open.call("list_resources"))).toContain(resource.uri);
    expect(mcpModelOutput(await open.call("read_resource", { uri: resource.uri }))).toMatchObject({
      type: "content",
      value: [{ text: containing(resource.uri) }],
    });
  });

  it("are attached to messages, as files are", async () => {
    const model = scriptedModel(["Read."]);
    await using open = await openSession({ model }, { mcp: { own: everything } });
    const uri = "demo://resource/static/document/features.md";
    await (
      await open.session.send({ text: "Read it.", files: [`own:${uri}`] })
    ).result;
    expect(JSON.stringify(model.calls[0]?.prompt.at(-1))).toContain(`<file name=`);
    await expect(open.session.send({ text: "", files: ["own:none://"] })).rejects.toMatchObject({
      code: "MCP_SERVER_FAILED",
    });
  });

  it("that are not there fail their reading", async () => {
    await using open = opened(everything);
    await expect(open.servers.read("own", "nowhere://")).rejects.toMatchObject({
      code: "MCP_SERVER_FAILED",
    });
    await expect(open.servers.read("other", "nowhere://")).rejects.toMatchObject({
      message: containing("does not have"),
    });
  });
});
