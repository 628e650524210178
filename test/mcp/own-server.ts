/**
 * An MCP server that does what real ones do on bad days, spoken by hand: no library is between a
 * test and what goes over the pipe. Run as `node own-server.ts <folder> [habit…]`; every start notes its
 * pid in `<folder>/pids`.
 */

import { spawn } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";

const [folder = ".", ...habits] = process.argv.slice(2);
const has = (habit: string): boolean => habits.includes(habit);

appendFileSync(join(folder, "pids"), `${process.pid}\n`);
if (has("dead")) {
  process.stderr.write("no such database\n");
  process.exit(1);
}
if (has("stubborn")) {
  process.on("SIGTERM", () => {});
  const child = spawn(process.execPath, ["--eval", "setInterval(() => {}, 1000)"], {
    stdio: "ignore",
  });
  appendFileSync(join(folder, "pids"), `${child.pid}\n`);
  setInterval(() => {}, 1000);
}

const requestSchema = z.looseObject({
  id: z.union([z.number(), z.string()]).optional(),
  /** Absent in an answer to a question of ours. */
  method: z.string().optional(),
  result: z.unknown().optional(),
  params: z
    .looseObject({
      name: z.string().optional(),
      arguments: z.record(z.string(), z.unknown()).optional(),
      requestId: z.union([z.number(), z.string()]).optional(),
      _meta: z.looseObject({ progressToken: z.unknown().optional() }).optional(),
    })
    .optional(),
});

function write(message: object): void {
  if (has("rubbish")) process.stdout.write('Ready!\n{"neither": "here"}\n\u0000\n[1,\n');
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

const anything = { type: "object" };
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

function tools(): readonly object[] {
  const names = [
    "say",
    "die",
    "hang",
    "block",
    "grow",
    "fail",
    "mixed",
    "wait",
    "refuse",
    "huge",
    "raw",
    "steps",
    "ask",
  ];
  const grown = existsSync(join(folder, "grown")) ? ["extra"] : [];
  const twice = has("twice") ? [{ name: "say", description: "again", inputSchema: anything }] : [];
  return [
    ...[...names, ...grown].map((name) => ({ name, description: name, inputSchema: anything })),
    { name: "look", inputSchema: anything, annotations: { readOnlyHint: true } },
    { name: "settle", inputSchema: anything, annotations: { idempotentHint: true } },
    ...twice,
    ...(has("prompts") ? [{ name: "get_prompt", inputSchema: anything }] : []),
  ];
}

/** As servers list them that leave nothing out, or too much. */
const carelessTools = [
  { name: "good", description: "good", inputSchema: { type: "object", required: ["a"] } },
  { name: "empty" },
  { name: "nulls", title: null, description: null, inputSchema: null, annotations: null },
  { name: "schema", inputSchema: { type: null, properties: null, required: null } },
  { name: "words", description: 5, inputSchema: "none", outputSchema: [], annotations: "none" },
  { name: "hints", inputSchema: anything, annotations: { readOnlyHint: "true", title: null } },
  { description: "without a name", inputSchema: anything },
];

const mixed = {
  content: [
    { type: "audio", data: base64("sound"), mimeType: "audio/wav" },
    {
      type: "resource",
      resource: { uri: "file:///a/b.pdf", mimeType: "application/pdf", blob: base64("%PDF") },
    },
    {
      type: "resource",
      resource: { uri: "file:///a.json", mimeType: "application/json", blob: base64('{"é":1}') },
    },
    { type: "resource_link", uri: "file:///c.txt", name: "c" },
  ],
  structuredContent: { answer: 42 },
};

/** The answer to a call; undefined for one that is never answered. */
function called(name: string | undefined, input: Record<string, unknown>): object | undefined {
  const text = (said: string): object => ({ content: [{ type: "text", text: said }] });
  switch (name) {
    case "die":
      process.kill(process.pid, "SIGKILL");
      return undefined;
    case "block":
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      return undefined;
    case "hang":
    case "wait":
    case "settle":
      appendFileSync(join(folder, "begun"), `${name}\n`);
      return undefined;
    case "grow":
      appendFileSync(join(folder, "grown"), "");
      write({ method: "notifications/tools/list_changed" });
      return text("grown");
    case "fail":
      return input["media"] === true
        ? {
            isError: true,
            content: [
              { type: "text", text: "It looks like this:" },
              { type: "image", data: pixel, mimeType: "image/png" },
            ],
          }
        : { isError: true, ...text("It is broken.") };
    case "get_prompt":
      return text("its own");
    case "mixed":
      return mixed;
    case "huge":
      return text(
        (input["plain"] === true ? "word" : "é x\n").repeat(Number(input["characters"]) / 4),
      );
    default:
      return text(`${name} ${JSON.stringify(input)} of ${process.pid}`);
  }
}

/** Reports twelve times that it is at it, and then answers. */
function steps(id: unknown, progressToken: unknown): void {
  let progress = 0;
  const step = (): void => {
    progress += 1;
    if (progress > 12) return write({ id, result: { content: [] } });
    const params = { progressToken, progress, total: 12, message: `step ${progress}` };
    write({ method: "notifications/progress", params });
    setTimeout(step, 100);
  };
  step();
}

/** Calls that wait for a person, by the id of the question. */
const asking = new Map<unknown, unknown>();

/** Asks a person, and answers the call with what the person said. */
function ask(id: unknown): void {
  appendFileSync(join(folder, "begun"), "ask\n");
  const question = `q${asking.size + 1}`;
  asking.set(question, id);
  const requestedSchema = { type: "object", properties: { day: { type: "string" } } };
  write({
    id: question,
    method: "elicitation/create",
    params: { message: "When?", requestedSchema },
  });
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result } = requestSchema.parse(JSON.parse(line));
  if (method === "server/discover" && has("strict")) process.exit(1);
  if (method === "notifications/cancelled") {
    appendFileSync(join(folder, "begun"), `cancelled\n`);
  }
  if (id === undefined || has("mute")) return;
  if (method === undefined) {
    const said = [{ type: "text", text: JSON.stringify(result) }];
    return write({ id: asking.get(id), result: { content: said } });
  }
  switch (method) {
    case "initialize": {
      const capabilities = { tools: { listChanged: true } };
      const serverInfo = { name: "own", version: "1" };
      return write({ id, result: { protocolVersion: "2025-06-18", capabilities, serverInfo } });
    }
    case "tools/list":
      if (has("listless")) return;
      if (has("careless")) return write({ id, result: { tools: carelessTools, nextCursor: null } });
      return write({ id, result: { tools: tools() } });
    case "tools/call": {
      if (params?.name === "raw") {
        // The very line, whatever it is.
        const line = String(params.arguments?.["line"]);
        return void process.stdout.write(`${line.replace("ID", String(id))}\n`);
      }
      if (params?.name === "ask") return ask(id);
      if (params?.name === "steps") return steps(id, params["_meta"]?.progressToken);
      if (params?.name === "refuse") {
        return write({ id, error: { code: -32602, message: "No such argument." } });
      }
      const result = called(params?.name, params?.arguments ?? {});
      return result === undefined ? undefined : write({ id, result });
    }
    default:
      return write({ id, error: { code: -32601, message: "Method not found" } });
  }
});
