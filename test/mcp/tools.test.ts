/** Tools of MCP servers as a session has them: what they are called, what the model is told, what the log keeps. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import {
  createRuntime,
  openMemoryLog,
  verifySession,
  type Agent,
  type RuntimeOptions,
} from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { allow } from "../support/answering.ts";
import { call, calling } from "../support/script.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";
import { containing, echo, endOf, nothing } from "../runtime/tools.ts";
import { begunIn, ownServer, pidsIn, until } from "./own-servers.ts";

async function turn({ session }: OpenSession): Promise<void> {
  await (
    await session.send("Go.")
  ).result;
}

/** What the model was told in its last call of each call before it. */
function told(model: ReturnType<typeof scriptedModel>): readonly unknown[] {
  const answer = model.calls.at(-1)?.prompt.findLast(({ role }) => role === "tool");
  return answer?.role === "tool"
    ? answer.content.map((part) => (part.type === "tool-result" ? part.output : part))
    : [];
}

function toolNames(model: ReturnType<typeof scriptedModel>, at: number): readonly string[] {
  return (model.calls.at(at)?.tools ?? []).map(({ name }) => name);
}

async function configurations(open: OpenSession): Promise<number> {
  return (await open.types()).filter((type) => type === "session.configured").length;
}

describe("a failed result", () => {
  it("is recorded as a failure whose content is kept, and the model gets it as an error", async () => {
    await using folder = await temporaryFolder();
    const model = scriptedModel([
      calling(
        call("own__fail", "1"),
        call("own__fail", "2", { media: true }),
        call("own__refuse", "3"),
      ),
      "Done.",
    ]);
    await using open = await openSession({ model }, { mcp: { own: ownServer(folder) } });
    await turn(open);
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.failed",
      data: {
        error: {
          code: "MCP_TOOL_FAILED",
          message: "It is broken.",
          details: { server: "own", tool: "fail", result: { isError: true } },
        },
      },
    });
    expect(await endOf(open, "2")).toMatchObject({ type: "tool.failed" });
    expect(told(model)).toEqual([
      { type: "error-text", value: "It is broken." },
      {
        type: "content",
        value: [
          { type: "text", text: containing("failed") },
          { type: "text", text: "It looks like this:" },
          expect.objectContaining({ type: "file", mediaType: "image/png" }),
        ],
      },
      { type: "error-text", value: "No such argument." },
    ]);
  });
});

describe("a result of many kinds", () => {
  it("reaches the model as files and text, and nothing of it twice", async () => {
    await using folder = await temporaryFolder();
    const model = scriptedModel([calling(call("own__mixed", "1")), "Done."]);
    await using open = await openSession({ model }, { mcp: { own: ownServer(folder) } });
    await turn(open);
    const data = (text: string): object => ({
      type: "data",
      data: Buffer.from(text).toString("base64"),
    });
    expect(told(model)).toEqual([
      {
        type: "content",
        value: [
          // It is said to be `audio/wav`, and is what its bytes are.
          { type: "file", mediaType: "text/plain", data: data("sound") },
          { type: "file", mediaType: "application/pdf", data: data("%PDF"), filename: "b.pdf" },
          { type: "text", text: containing('{\\"é\\":1}') },
          { type: "text", text: containing("file:///c.txt") },
          { type: "text", text: '{"answer":42}' },
        ],
      },
    ]);
  });
});

describe("names", () => {
  it("are valid for every provider, and each names one tool", async () => {
    await using folder = await temporaryFolder();
    const mcp: RuntimeOptions["mcp"] = {
      "my server": ownServer(folder, "twice"),
      my_server: ownServer(folder),
      [`1-${"long".repeat(16)}`]: ownServer(folder),
    };
    const model = scriptedModel(["Done."]);
    await using open = await openSession(
      { model, tools: { my_server__extra: tool({ inputSchema: nothing }), echo } },
      { mcp },
    );
    await turn(open);
    const names = toolNames(model, 0);
    for (const name of names) expect(name).toMatch(/^[A-Za-z_][\w-]{0,63}$/);
    expect(new Set(names).size).toBe(names.length);
    // Fourteen of each server, two of the agent's own, and the one that reads results.
    expect(names).toHaveLength(3 * 15 + 3);
    expect(names.slice(0, 2)).toEqual(["my_server__extra", "echo"]);
  });
});

describe("a server whose tools change", () => {
  it("has them known from the next turn on, which the log says", async () => {
    await using folder = await temporaryFolder();
    const model = scriptedModel([
      calling(call("own__grow", "1")),
      "Done.",
      calling(call("own__extra", "2")),
      "Done.",
      "Done.",
    ]);
    await using open = await openSession({ model }, { mcp: { own: ownServer(folder) } });
    await turn(open);
    expect(toolNames(model, 1)).not.toContain("own__extra");
    expect(await configurations(open)).toBe(1);
    await turn(open);
    expect(toolNames(model, 2)).toContain("own__extra");
    expect(await endOf(open, "2")).toMatchObject({ type: "tool.succeeded" });
    expect(await configurations(open)).toBe(2);
    await turn(open);
    expect(await configurations(open)).toBe(2);
    expect(await verifySession(open.log, "s")).toMatchObject({ problems: [] });
  });
});

describe("a session that is opened again", () => {
  it("says nothing of its tools while they are what they were", async () => {
    await using folder = await temporaryFolder();
    const agent: Agent = { model: scriptedModel(["One.", "Two."]), tools: { echo } };
    const mcp = { own: ownServer(folder) };
    const log = await openMemoryLog();
    const open = await openSession(agent, { mcp, log });
    await turn(open);
    await using again = await reopen(open, agent, { mcp });
    await again.session.view();
    await turn(again);
    expect(await configurations(again)).toBe(1);
    expect(pidsIn(folder)).toHaveLength(2);
  });

  it("has its servers for what waits for approval, and for a turn that it continues with", async () => {
    await using folder = await temporaryFolder();
    const mcp = { own: { ...ownServer(folder), needsApproval: "unless-read-only" } } as const;
    const model = scriptedModel([calling(call("own__say", "1"), call("own__look", "2")), "Done."]);
    const log = await openMemoryLog();
    const open = await openSession({ model }, { mcp, log });
    const running = await open.session.send("Go.");
    running.result.catch(() => {});
    for await (const event of running) if (event.type === "tool.succeeded") break;
    expect(await endOf(open, "2")).toMatchObject({ type: "tool.succeeded" });
    await open.runtime.close();
    await using again = await openSession({ model }, { mcp, log });
    await allow(again.session, "1");
    await again.session.idle();
    expect(await endOf(again, "1")).toMatchObject({ type: "tool.succeeded" });
    expect(await configurations(again)).toBe(1);
  });
});

describe("a call that was running when the process died", () => {
  it("is unknown, and run again only where the server calls it idempotent", async () => {
    await using folder = await temporaryFolder();
    const mcp = { own: ownServer(folder) };
    const model = scriptedModel([
      calling(call("own__wait", "1"), call("own__settle", "2")),
      "Done.",
    ]);
    const log = await openMemoryLog();
    const first = await createRuntime({ log, agent: { model }, mcp });
    const session = await first.session("s");
    await session.send("Go.");
    await until(() => begunIn(folder).length === 2);
    // The same log as a process finds it that comes after a sudden end.
    const copy = await openMemoryLog();
    const events = await Array.fromAsync(log.read("s"));
    await copy.append(
      "s",
      "none",
      events.map(({ position: _, ...event }) => event),
    );
    await first.close();
    const done = scriptedModel(["Done."]);
    await using open = await openSession(
      { model: done },
      {
        mcp: { own: { ...ownServer(folder), callTimeoutMs: 1000 } },
        log: copy,
        recovery: "continue",
      },
    );
    await open.session.idle();
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.unknown",
      data: { reason: "recovered" },
    });
    expect(begunIn(folder).filter((name) => name === "settle")).toHaveLength(2);
    expect(begunIn(folder).filter((name) => name === "wait")).toHaveLength(1);
  });
});

describe("a replay", () => {
  it("starts and calls no server, and has the same tools", async () => {
    await using folder = await temporaryFolder();
    const agent: Agent = { model: scriptedModel([]), tools: { echo } };
    const model = scriptedModel([
      calling(call("own__say", "1"), call("own__fail", "2", { media: true })),
      calling(call("own__grow", "3"), call("echo", "4", { value: 1 })),
      "Done.",
      calling(call("own__mixed", "5"), call("own__extra", "6")),
      "Done.",
    ]);
    await using open = await openSession({ ...agent, model }, { mcp: { own: ownServer(folder) } });
    await turn(open);
    await turn(open);
    const events = await open.events();
    await open.runtime.close();
    const before = pidsIn(folder).length;
    expect(await replay(events, agent)).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
    expect(pidsIn(folder)).toHaveLength(before);
    // It would notice.
    const changed = events.map((event) =>
      event.type === "session.configured"
        ? { ...event, data: { agent: { ...event.data.agent, digest: "0".repeat(64) } } }
        : event,
    );
    expect((await replay(changed, agent)).difference?.position).toBe(2);
  });
});
