/** What a program may tell a session, a shell may too: by the process or the server that runs the session. */

import { tool } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Runtime } from "../../src/public/index.ts";
import { serveNode } from "../../src/server/index.ts";
import { commands } from "../../src/commands/index.ts";
import { sessionCommandTable } from "../../src/cli/commands/session-command-table.ts";
import { commandTablePath, commandTableSource } from "./command-table-source.ts";
import { readFile } from "node:fs/promises";
import { jsonLines, run, type Ended } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const ends: (() => PromiseLike<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

interface Place {
  readonly runtime: Runtime;
  readonly told: (...args: readonly string[]) => Promise<Ended>;
}

const callOf = (toolName: string): object => ({
  parts: [{ type: "tool-call", toolName, toolCallId: toolName, input: "{}" }],
});

async function opened(isServed: boolean): Promise<Place> {
  const folder = await temporaryFolder({});
  ends.push(() => folder[Symbol.asyncDispose]());
  const inputSchema = z.object({});
  const runtime = await createRuntime({
    dir: folder.at(".turnlog"),
    agent: {
      model: scriptedModel([callOf("pay"), callOf("look"), "Done."]),
      tools: {
        pay: tool({ inputSchema, execute: () => "paid" }),
        look: tool({ inputSchema, outputSchema: z.object({ seen: z.number() }) }),
      },
      toolApproval: { pay: "user-approval" },
    },
  });
  ends.push(() => runtime.close());
  const env = { TURNLOG_TOKEN: "a token of the server" };
  const server = await serveNode(runtime, { port: 0, token: env.TURNLOG_TOKEN });
  ends.push(() => server.close());
  const place = isServed ? ["--server", server.url] : ["--dir", ".turnlog"];
  return { runtime, told: (...args) => run([...args, ...place], { cwd: folder.path, env }) };
}

describe.each([
  ["of a store in use", false],
  ["of a server", true],
])("a session %s", (_, isServed) => {
  it("takes an approval, an output, a title and a cancel, each with its answer", async () => {
    const { runtime, told } = await opened(isServed);
    const session = await runtime.session("s");
    const turn = await session.send("Pay, then look");
    const { approvals } = await session.atRest();
    const [approval] = approvals;
    const id = approval?.approvalId ?? "";

    const approved = await told("approve", "s", id, "--reason", "checked", "--always");
    expect(approved).toMatchObject({ code: 0, stderr: "" });
    expect(jsonLines(approved.stdout)).toMatchObject([
      { status: "recorded", approval: { approvalId: id, answer: { reason: "checked" } } },
    ]);
    const { outputRequests } = await session.atRest();
    const request = outputRequests[0]?.requestId ?? "";
    const wrong = await told("answer-call", "s", request, "--output", '{"seen":"two"}');
    expect(wrong).toMatchObject({ code: 1, stdout: "" });
    const answered = await told("answer-call", "s", request, "--output", '{"seen":2}');
    expect(jsonLines(answered.stdout)).toMatchObject([{ status: "recorded" }]);
    await turn.result;

    expect(await told("set-title", "s", "About paying")).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "Session s: done.\n",
    });
    expect(await told("set-metadata", "s", '{"team":["a"]}')).toMatchObject({ code: 0 });
    expect((await session.view()).summary).toMatchObject({
      title: "About paying",
      metadata: { team: ["a"] },
    });
    expect(jsonLines((await told("cancel", "s", "--mode", "after-tools")).stdout)).toMatchObject([
      { was: "idle" },
    ]);
    expect(await told("forget-approval", "s", "pay")).toMatchObject({ code: 0 });
    const again = await told("forget-approval", "s", "pay");
    expect(`${again.code} ${again.stderr}`).toMatch(/^1 .*has no permanent answer/s);
  });

  it("takes a message to steer by, and answers when it is durable", async () => {
    const { runtime, told } = await opened(isServed);
    const session = await runtime.session("s");
    await session.send("Pay, then look");
    await session.atRest();
    const sent = await told("send", "s", "Be quick", "--delivery", "steer", "--id", "m-2");
    expect(sent).toMatchObject({ code: 0, stderr: "" });
    expect(jsonLines(sent.stdout)).toMatchObject([{ messageId: "m-2", queued: true }]);
    expect((await session.view()).queue).toMatchObject([{ id: "m-2", delivery: "steer" }]);
    expect(await told("withdraw", "s", "m-2")).toMatchObject({ code: 0 });
    expect((await session.view()).queue).toEqual([]);
  });

  it("says what is wrong with a word, and that a session is missing", async () => {
    const { runtime, told } = await opened(isServed);
    await runtime.session("s");
    const said = async (...args: readonly string[]): Promise<string> => {
      const { code, stderr } = await told(...args);
      return `${code} ${stderr}`;
    };
    expect(await said("allow", "s", "--tokens", "many")).toMatch(/^2 .*is not a number/s);
    expect(await said("allow", "s")).toMatch(/^1 .*no limit of spending.*COMMAND_REFUSED/s);
    expect(await said("allow", "s", "--tokens", "-1")).toMatch(
      /^1 .*greater than 0.*INVALID_INPUT/s,
    );
    expect(await said("set-metadata", "s", "[1")).toMatch(/^2 .*is not JSON/s);
    expect(await said("reschedule", "s", "m", "--delivery", "soon")).toMatch(/^2 .*steer/s);
    expect(await said("withdraw", "s", "m")).toMatch(/^1 .*does not wait.*COMMAND_REFUSED/s);
    expect(await said("cancel", "none")).toMatch(/^1 .*\[SESSION_NOT_FOUND\]/s);
  });
});

it("a session that nobody runs takes what needs no agent", async () => {
  const { runtime, told } = await opened(false);
  await runtime.session("s");
  await runtime.close();
  expect(await told("set-title", "s", "Now")).toMatchObject({ code: 0 });
  const { code, stderr } = await told("approve", "s", "a");
  expect(`${code} ${stderr}`).toMatch(/^1 .*no process runs it, and that needs its agent/s);
  expect((await told("cancel", "none")).stderr).toContain("SESSION_NOT_FOUND");
});

it("the table is the one that `npm run tables` writes: run it after a change of the catalogue", async () => {
  const stored = await readFile(commandTablePath, "utf8");
  // It is formatted when it is written.
  const compact = (text: string): string => text.replaceAll(/[\s",|]/g, "");
  expect(compact(stored)).toBe(compact(commandTableSource()));
  for (const { name } of sessionCommandTable)
    expect(commands.find((command) => command.name === name)?.route).toBeDefined();
});
