/** `turnlog acp` as an editor runs it: a process that is killed in the middle of a word, loaded again, and continues. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { expect, it } from "vitest";
import { main } from "../cli/built-command.ts";
import { cleanEnvironment, jsonLines, run } from "../cli/command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "../cli/temporary-folder.ts";
import { eventually } from "../support/eventually.ts";
import { editorOf, newSession, prompt, type ScriptedEditor } from "./editor.ts";

interface EditorProcess extends ScriptedEditor {
  readonly child: ChildProcess;
  /** What the process has written to stdout. */
  readonly written: () => string;
}

async function started({ path }: TemporaryFolder): Promise<EditorProcess> {
  const child = spawn(process.execPath, [main, "acp", "--agent", "agent.mjs"], {
    cwd: path,
    env: cleanEnvironment({}),
    stdio: ["pipe", "pipe", "inherit"],
  });
  const to = Writable.toWeb(child.stdin) as WritableStream<Uint8Array>;
  const stdout = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
  const pieces: Uint8Array[] = [];
  const from = stdout.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        pieces.push(piece);
        controller.enqueue(piece);
      },
    }),
  );
  const editor = await editorOf({ to, from });
  return {
    ...editor,
    child,
    written: () => Buffer.concat(pieces).toString(),
    async [Symbol.asyncDispose]() {
      await editor[Symbol.asyncDispose]();
      child.stdin.end();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

/** Its first reply never ends; what it prints must not reach the editor. */
const agent = `
  import { existsSync, writeFileSync } from "node:fs";
  import { gate, scriptedModel } from ${JSON.stringify(import.meta.resolve("../../src/public/testing.ts"))};
  console.log("An agent may print.");
  const model = scriptedModel(() => {
    if (existsSync("asked")) return "One two three.";
    writeFileSync("asked", "");
    return { parts: [{ type: "text", deltas: ["One t", gate()] }] };
  });
  export { model };
  export default { model };
`;

it("loses nothing and shows nothing twice when it is killed in the middle of a word", async () => {
  await using folder = await temporaryFolder({ "agent.mjs": agent });
  const first = await started(folder);
  const sessionId = await newSession(first, folder.path);
  prompt(first, sessionId, "Count.").catch(() => {});
  await eventually(() => expect(first.said("agent_message_chunk")).toBe("One t"));
  first.child.kill("SIGKILL");
  await first[Symbol.asyncDispose]();
  {
    await using second = await started(folder);
    const opening = { sessionId, cwd: folder.path, mcpServers: [] };
    await second.agent.request("session/load", opening);
    await eventually(() => expect(second.said("agent_message_chunk")).toMatch(/three\.$/));
    expect(second.said("user_message_chunk")).toBe("Count.");
    const { stdout } = await run(["show", sessionId, "--view", "history", "--json"], {
      cwd: folder.path,
    });
    const told = stdout.matchAll(/"kind":"text","id":"[^"]*","text":"([^"]*)"/g);
    expect(second.said("agent_message_chunk")).toBe([...told].map(([, text]) => text).join(""));
    expect(await prompt(second, sessionId, "Again.")).toBe("end_turn");
  }
  expect((await run(["verify"], { cwd: folder.path })).code).toBe(0);
});

it("ends with a signal, and leaves its turn to the next process", async () => {
  await using folder = await temporaryFolder({ "agent.mjs": agent });
  await using first = await started(folder);
  const sessionId = await newSession(first, folder.path);
  prompt(first, sessionId, "Count.").catch(() => {});
  await eventually(() => expect(first.said("agent_message_chunk")).toBe("One t"));
  first.child.kill("SIGTERM");
  await once(first.child, "exit");
  expect(first.child.exitCode).toBe(0);
  const { stdout } = await run(["sessions", "--json"], { cwd: folder.path });
  expect(stdout).toContain('"status":"running"');
});

it("works on the store that another editor's process has open", async () => {
  await using folder = await temporaryFolder({ "agent.mjs": agent, asked: "" });
  await using first = await started(folder);
  const sessionId = await newSession(first, folder.path);
  await using second = await started(folder);
  const opening = { sessionId, cwd: folder.path, mcpServers: [] };
  await second.agent.request("session/load", opening);
  expect(await prompt(second, sessionId, "Count.")).toBe("end_turn");
  await eventually(() => expect(first.said("agent_message_chunk")).toBe("One two three."));
  expect(first.said("user_message_chunk")).toBe("Count.");
  // What the agent's module prints is no message.
  for (const line of jsonLines(first.written())) expect(line).toMatchObject({ jsonrpc: "2.0" });
  // The first one, whose agent answered, is killed: the second one opens the store.
  first.child.kill("SIGKILL");
  await once(first.child, "exit");
  expect(await prompt(second, sessionId, "Again.")).toBe("end_turn");
  expect(second.said("agent_message_chunk")).toBe("One two three.One two three.");
});
