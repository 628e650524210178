/** The reference servers, started for real: all their tools called through a session, over stdio and HTTP. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { McpServer } from "../../src/mcp/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { temporaryFolder, type TemporaryFolder } from "../cli/temporary-folder.ts";
import { corpusFolder } from "../corpus/wire-manifest.ts";
import { sampled } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";

const require = createRequire(import.meta.url);
const programs = {
  everything: require.resolve("@modelcontextprotocol/server-everything/package.json"),
  filesystem: require.resolve("@modelcontextprotocol/server-filesystem/package.json"),
} as const;

function program(name: keyof typeof programs): string {
  return join(dirname(programs[name]), "dist/index.js");
}

function started(name: keyof typeof programs, ...args: readonly string[]): McpServer {
  return { command: process.execPath, args: [program(name), ...args] };
}

interface Asked {
  readonly tool: string;
  readonly input: object;
}

interface Answered extends Asked {
  readonly end: SessionEvent<"tool.succeeded" | "tool.failed">;
}

/** One turn in which the model makes these calls, one a step; and the tools that it was offered. */
async function answers(
  server: McpServer,
  asked: readonly Asked[],
): Promise<{ readonly offered: readonly string[]; readonly answered: readonly Answered[] }> {
  const steps = asked.map(({ tool, input }, index) =>
    calling(call(`own__${tool}`, `c${index}`, input)),
  );
  const model = scriptedModel([...steps, "Done."]);
  await using open = await openSession({ model }, { mcp: { own: server } });
  const { session } = open;
  const turn = await session.send("Go.");
  for (let rest = await turn.untilRest(); rest.kind === "waiting"; rest = await turn.untilRest()) {
    const [{ approvalId, question } = { approvalId: "" }] = rest.approvals;
    const content = { name: "Ann", check: true };
    await session.approve(approvalId, question?.kind === "form" ? { content } : {});
  }
  const ends = (await open.events()).filter(
    (event) => event.type === "tool.succeeded" || event.type === "tool.failed",
  );
  return {
    offered: (model.calls[0]?.tools ?? []).flatMap(
      ({ name }) => /^own__(.*)/.exec(name)?.[1] ?? [],
    ),
    answered: asked.flatMap((one, index) => {
      const end = ends.find(({ data }) => data.callId === `c${index}`);
      return end === undefined ? [] : [{ ...one, end }];
    }),
  };
}

const everything: readonly Asked[] = [
  { tool: "echo", input: { message: "hi" } },
  { tool: "get-annotated-message", input: { messageType: "success", includeImage: true } },
  { tool: "get-env", input: {} },
  { tool: "get-resource-links", input: { count: 2 } },
  { tool: "get-resource-reference", input: { resourceType: "Text", resourceId: 1 } },
  { tool: "get-resource-reference", input: { resourceType: "Blob", resourceId: 1 } },
  { tool: "get-structured-content", input: { location: "New York" } },
  { tool: "get-sum", input: { a: 1, b: 2 } },
  { tool: "get-sum", input: { a: "x" } },
  { tool: "get-tiny-image", input: {} },
  { tool: "gzip-file-as-resource", input: { data: "data:,hello", outputType: "resource" } },
  { tool: "toggle-simulated-logging", input: {} },
  { tool: "toggle-subscriber-updates", input: {} },
  { tool: "trigger-long-running-operation", input: { duration: 0.1, steps: 2 } },
  { tool: "simulate-research-query", input: { topic: "logs" } },
  { tool: "trigger-elicitation-request", input: {} },
  { tool: "trigger-url-elicitation", input: { url: "http://127.0.0.1:9/" } },
];

function filesystem(folder: TemporaryFolder): readonly Asked[] {
  const at = (name: string): string => folder.at(name);
  const path = at("a.txt");
  return [
    { tool: "list_allowed_directories", input: {} },
    { tool: "list_directory", input: { path: at(".") } },
    { tool: "list_directory_with_sizes", input: { path: at(".") } },
    { tool: "read_text_file", input: { path } },
    { tool: "read_file", input: { path } },
    { tool: "read_media_file", input: { path: at("p.png") } },
    { tool: "read_multiple_files", input: { paths: [path] } },
    { tool: "write_file", input: { path: at("b.txt"), content: "x" } },
    { tool: "edit_file", input: { path: at("b.txt"), edits: [{ oldText: "x", newText: "y" }] } },
    { tool: "create_directory", input: { path: at("c") } },
    { tool: "move_file", input: { source: at("b.txt"), destination: at("c/b.txt") } },
    { tool: "search_files", input: { path: at("."), pattern: "**/*.txt" } },
    { tool: "directory_tree", input: { path: at(".") } },
    { tool: "get_file_info", input: { path } },
    { tool: "read_text_file", input: { path: "/etc/hostname" } },
  ];
}

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function someFiles(): Promise<TemporaryFolder> {
  return await temporaryFolder({
    "a.txt": "hello\nworld\n",
    "p.png": Buffer.from(png, "base64"),
  });
}

/** Which kinds of parts there are, and of which media: what does not change from day to day. */
function shapeOf(value: unknown): unknown {
  const parts = z.looseObject({ content: z.array(z.looseObject({ type: z.string() })) });
  const { content, ...rest } = parts.parse(value);
  return {
    content: content.map((part) => [part.type, Object.keys(part).toSorted()]),
    keys: Object.keys(rest).toSorted(),
  };
}

/** The result as the server gave it: of a failed one, from the error that keeps it. */
function resultOf({ end }: Answered): unknown {
  if (end.type === "tool.succeeded") return end.data.output;
  return z.looseObject({ details: z.looseObject({ result: z.unknown() }) }).parse(end.data.error)
    .details.result;
}

/** What the model is given: the kinds of its parts. */
function shownKinds({ end }: Answered): readonly string[] {
  if (end.type === "tool.failed") return ["failed"];
  const shown = end.data.modelOutput;
  return shown?.type === "content"
    ? shown.value.map((part) => ("text" in part ? "text" : "file"))
    : [];
}

const recordings = join(corpusFolder, "mcp/tool-results.json");
const recorded = z.record(
  z.string(),
  z.looseObject({
    results: z.record(
      z.string(),
      z.object({
        output: z.looseObject({ isError: z.boolean().optional() }),
        modelOutput: z.object({ value: z.array(z.looseObject({ type: z.string() })) }),
      }),
    ),
  }),
);

function withoutFolders(input: object): string {
  return JSON.stringify(input).replaceAll(/"\/[^"]*?([^"/]*)"/g, '"/…/$1"');
}

const servers = [
  { name: "everything", asked: () => everything, args: () => [] },
  { name: "filesystem", asked: filesystem, args: ({ path }: TemporaryFolder) => [path] },
] as const;

describe.each(sampled(servers, 1))("the tools of server-$name", ({ name, asked, args }) => {
  it("are all called through a session, and each answers", async () => {
    await using folder = await someFiles();
    const { offered, answered } = await answers(started(name, ...args(folder)), asked(folder));
    expect(new Set(answered.map(({ tool }) => tool))).toEqual(new Set(offered));
    const failed = answered.filter(({ end }) => end.type === "tool.failed");
    expect(failed.map(({ tool }) => tool)).toEqual(
      name === "everything" ? ["get-sum", "simulate-research-query"] : ["read_text_file"],
    );
  });

  it.skipIf(!existsSync(recordings))(
    `answer in the shape of what was recorded${existsSync(recordings) ? "" : ` (skipped: ${recordings} is not there)`}`,
    async () => {
      await using folder = await someFiles();
      const all = recorded.parse(JSON.parse(readFileSync(recordings, "utf8")));
      const known = Object.entries(all[`@modelcontextprotocol/server-${name}`]?.results ?? {}).map(
        ([line, result]) => {
          const [tool = "", input = "{}"] = line.split(/ (.*)/s);
          return {
            tool,
            input: withoutFolders(z.looseObject({}).parse(JSON.parse(input))),
            result,
          };
        },
      );
      const { answered } = await answers(started(name, ...args(folder)), asked(folder));
      const compared: string[] = [];
      for (const answer of answered) {
        const input = withoutFolders(answer.input).replaceAll(folder.path, "");
        const one = known.find(
          (other) => other.tool === answer.tool && sameInput(other.input, input),
        );
        if (one === undefined) continue;
        compared.push(answer.tool);
        const { output, modelOutput } = one.result;
        expect(shapeOf(resultOf(answer)), answer.tool).toEqual(shapeOf(output));
        expect(answer.end.type === "tool.failed", answer.tool).toBe(output.isError === true);
        expect(shownKinds(answer), answer.tool).toEqual(
          output.isError === true ? ["failed"] : modelOutput.value.map(({ type }) => type),
        );
      }
      expect(compared.length).toBeGreaterThanOrEqual(name === "everything" ? 8 : 5);
    },
  );
});

/** Paths are those of another folder: the last of their names counts. */
function sameInput(one: string, other: string): boolean {
  const plain = (text: string): string =>
    text.replaceAll(/"\/…\/(?:mcpdir|\.|turnlog-folder-\w+)"/g, '"/…"');
  return plain(one) === plain(other);
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

interface Listening extends AsyncDisposable {
  readonly url: string;
}

async function listening(kind: "streamableHttp" | "sse", port: number): Promise<Listening> {
  const child = spawn(process.execPath, [program("everything"), kind], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  for await (const piece of child.stderr.iterator({ destroyOnReturn: false })) {
    if (/listening|running on/.test(String(piece))) break;
  }
  child.stderr.resume();
  return {
    url: `http://127.0.0.1:${port}/${kind === "sse" ? "sse" : "mcp"}`,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

describe("a server over HTTP", () => {
  it.each(["streamableHttp", "sse"] as const)("answers by %s", async (kind) => {
    await using server = await listening(kind, await freePort());
    const type = kind === "sse" ? "sse" : "http";
    const { offered, answered } = await answers({ url: server.url, type }, [
      { tool: "echo", input: { message: "hi" } },
      { tool: "get-tiny-image", input: {} },
    ]);
    expect(offered).toContain("get-sum");
    expect(answered.map(({ end }) => end.type)).toEqual(["tool.succeeded", "tool.succeeded"]);
  });

  it("that is gone makes its calls fail, and its calls work again when it is back", async () => {
    const port = await freePort();
    const first = await listening("streamableHttp", port);
    const calls = ["1", "2", "3"].flatMap((id) => [
      calling(call("own__echo", id, { message: id })),
      "Done.",
    ]);
    const model = scriptedModel(calls);
    const warnings: string[] = [];
    let now = 0;
    await using open = await openSession(
      { model },
      {
        mcp: { own: { url: first.url } },
        onWarning: ({ code }) => warnings.push(code),
        clock: () => (now += 60_000),
      },
    );
    const ends: string[] = [];
    const turn = async (): Promise<void> => {
      await (
        await open.session.send("Go.")
      ).result;
      const end = (await open.types()).findLast((type) => /^tool\.(succ|fail)/.test(type));
      ends.push(end ?? "");
    };
    await turn();
    await first[Symbol.asyncDispose]();
    await turn();
    await using _ = await listening("streamableHttp", port);
    await turn();
    expect(ends).toEqual(["tool.succeeded", "tool.failed", "tool.succeeded"]);
    expect(new Set(warnings)).toEqual(new Set(["MCP_SERVER_FAILED"]));
    expect((await open.types()).filter((type) => type === "session.configured")).toHaveLength(1);
  });
});
