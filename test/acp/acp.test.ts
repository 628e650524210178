/** What an editor gets of a session: its conversation as it streams, its questions, and the same when it is loaded. */

import { join } from "node:path";
import type * as acp from "@agentclientprotocol/sdk";
import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { Agent } from "../../src/agent/index.ts";
import { chatAgent } from "../../src/cli/chat/model/chat-agent.ts";
import { storeOwner, type StoreOwner } from "../../src/cli/owner/store-owner.ts";
import { agentTool, askPerson, createRuntime, type Runtime } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/public/testing.ts";
import { callIdentity } from "../../src/runtime/index.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { eventually } from "../support/eventually.ts";
import {
  editorAt,
  memoryRuntime,
  newSession,
  prompt,
  storeOf,
  type EditorOptions,
  type ScriptedEditor,
} from "./editor.ts";

const cwd = "/work/folder";
/** A picture of one pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const opening = { cwd, mcpServers: [] };

const write = tool({
  inputSchema: z.object({ path: z.string(), text: z.string() }),
  execute: ({ path }) => `wrote ${path}`,
});
const asks = (toolCallId: string, path = "a.txt") =>
  ({ type: "tool-call", toolName: "write", toolCallId, input: { path, text: "new" } }) as const;
const writing = (...calls: readonly string[]): Agent => ({
  model: scriptedModel([...calls.map((id) => ({ parts: [asks(id)] })), "Done.", "Done."]),
  tools: { write },
  toolApproval: { write: "user-approval" },
});

async function opened(
  runtime: Runtime,
  options?: EditorOptions,
): Promise<ScriptedEditor & { readonly session: string }> {
  const editor = await editorAt(async () => storeOf(runtime), options);
  return { ...editor, session: await newSession(editor) };
}

/** The store as another process uses it. */
async function ownerOf(dir: string): Promise<StoreOwner> {
  const owner = await storeOwner(dir);
  if (owner === undefined) throw new Error("Nobody has the store open.");
  return owner;
}

const statusesOf = ({ updates }: ScriptedEditor): readonly unknown[] =>
  updates.flatMap(({ update }) =>
    update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update"
      ? [[update.toolCallId, update.status]]
      : [],
  );

describe("a turn", () => {
  it("streams a reply and thoughts, and ends the prompt", async () => {
    await using runtime = await memoryRuntime({
      model: scriptedModel([
        {
          parts: [
            { type: "reasoning", deltas: ["Let me ", "think."] },
            { type: "text", deltas: ["Hel", "lo."] },
          ],
        },
      ]),
    });
    await using editor = await opened(runtime);
    expect(await prompt(editor, editor.session, "Hi.")).toBe("end_turn");
    expect(editor.said("agent_message_chunk")).toBe("Hello.");
    expect(editor.said("agent_thought_chunk")).toBe("Let me think.");
    // The editor shows its own prompt itself.
    expect(editor.said("user_message_chunk")).toBe("");
    expect(editor.reports).toEqual([]);
  });

  it("shows a call with its file, its change and its states", async () => {
    await using runtime = await memoryRuntime({
      model: scriptedModel([{ parts: [asks("a")] }, "Done."]),
      tools: { write },
    });
    await using editor = await opened(runtime);
    await prompt(editor, editor.session, "Write.");
    const path = join(cwd, "a.txt");
    expect(editor.updates.map(({ update }) => update)).toContainEqual(
      expect.objectContaining({
        sessionUpdate: "tool_call",
        toolCallId: "1/a",
        title: "write a.txt",
        kind: "edit",
        locations: [{ path }],
        content: [{ type: "diff", path, newText: "new" }],
      }),
    );
    expect(statusesOf(editor)).toEqual([
      ["1/a", "pending"],
      ["1/a", "in_progress"],
      ["1/a", "completed"],
    ]);
  });

  it("says that it failed", async () => {
    await using runtime = await memoryRuntime({
      model: scriptedModel([{ failure: new Error("no money") }]),
      maxRetries: 0,
    });
    await using editor = await opened(runtime);
    await expect(prompt(editor, editor.session, "Hi.")).rejects.toThrow(/no money/);
  });

  it("takes a second prompt as the next turn", async () => {
    const stop = gate();
    await using runtime = await memoryRuntime({
      model: scriptedModel([{ parts: [{ type: "text", deltas: ["One.", stop] }] }, "Two."]),
    });
    await using editor = await opened(runtime);
    const first = prompt(editor, editor.session, "1");
    await stop.reached;
    const second = prompt(editor, editor.session, "2");
    const { queue } = await eventually(async () => {
      const view = await (await runtime.session(editor.session)).view();
      expect(view.queue).toHaveLength(1);
      return view;
    });
    expect(queue[0]?.content).toBe("2");
    stop.open();
    expect(await Promise.all([first, second])).toEqual(["end_turn", "end_turn"]);
    expect(editor.said("agent_message_chunk")).toBe("One.Two.");
  });

  it("that fails does not hold back the prompt behind it", async () => {
    const stop = gate();
    await using runtime = await memoryRuntime({
      model: scriptedModel((_, index) => {
        if (index > 0) return "Two.";
        return {
          parts: [
            { type: "text", deltas: ["One.", stop] },
            { type: "break", error: new Error("no money") },
          ],
        };
      }),
      maxRetries: 0,
    });
    await using editor = await opened(runtime);
    const first = prompt(editor, editor.session, "1");
    first.catch(() => {});
    await stop.reached;
    const second = prompt(editor, editor.session, "2");
    await eventually(async () => {
      const { queue } = await (await runtime.session(editor.session)).view();
      expect(queue).toHaveLength(1);
    });
    stop.open();
    await expect(first).rejects.toThrow(/no money/);
    expect(await second).toBe("end_turn");
  });

  it("is cancelled together with the prompts that wait", async () => {
    const stop = gate();
    await using runtime = await memoryRuntime({
      model: scriptedModel([{ parts: [{ type: "text", deltas: ["One.", stop] }] }, "Two."]),
    });
    await using editor = await opened(runtime);
    const first = prompt(editor, editor.session, "1");
    await stop.reached;
    const second = prompt(editor, editor.session, "2");
    await editor.agent.notify("session/cancel", { sessionId: editor.session });
    expect(await Promise.all([first, second])).toEqual(["cancelled", "cancelled"]);
    expect(await prompt(editor, editor.session, "3")).toBe("end_turn");
    expect(editor.said("agent_message_chunk")).toBe("One.Two.");
  });

  it("of another client is shown with its message", async () => {
    await using runtime = await memoryRuntime({ model: scriptedModel(() => "Hello.") });
    await using editor = await opened(runtime);
    const turn = await (await runtime.session(editor.session)).send("From elsewhere.");
    await turn.result;
    await eventually(() => expect(editor.said("agent_message_chunk")).toBe("Hello."));
    expect(editor.said("user_message_chunk")).toBe("From elsewhere.");
  });

  it("gets files, images and resources, as the editor has them", async () => {
    await using folder = await temporaryFolder({ "a.txt": "outdated", "b.txt": "two" });
    const model = scriptedModel(() => "Seen.");
    await using runtime = await memoryRuntime({ model });
    await using editor = await editorAt(async () => storeOf(runtime), {
      capabilities: { fs: { readTextFile: true } },
      unsaved: { [folder.at("a.txt")]: "unsaved" },
    });
    const sessionId = await newSession(editor, folder.path);
    const blocks: acp.ContentBlock[] = [
      { type: "text", text: "Compare @a.txt with" },
      { type: "resource_link", name: "b", uri: `file://${folder.at("b.txt")}` },
      { type: "resource_link", name: "docs", uri: `file://${folder.path}` },
      { type: "resource", resource: { uri: "file:///c.txt", text: "three" } },
      { type: "image", mimeType: "image/png", data: PIXEL },
    ];
    await editor.agent.request("session/prompt", { sessionId, prompt: blocks });
    const sent = JSON.stringify(model.calls[0]?.prompt);
    for (const text of ["unsaved", "two", "three", `[docs](file://${folder.path})`, "image/png"])
      expect(sent).toContain(text);
    expect(sent).not.toContain("outdated");
  });

  it("reads files with changes that are not saved", async () => {
    await using folder = await temporaryFolder({ "a.txt": "old" });
    const reading = {
      type: "tool-call",
      toolName: "read_file",
      toolCallId: "a",
      input: { path: "a.txt" },
    } as const;
    const model = scriptedModel([{ parts: [reading] }, "Read."]);
    const held: { read?: (session: string, path: string) => Promise<string | undefined> } = {};
    await using runtime = await memoryRuntime(
      chatAgent({
        model,
        folder: folder.path,
        store: folder.at(".turnlog"),
        allowWrite: false,
        canAsk: true,
        instructions: undefined,
        compaction: undefined,
        readText: async (path, call) => await held.read?.(callIdentity(call).session, path),
      }),
    );
    const open = async (read: NonNullable<typeof held.read>) => {
      held.read = read;
      return storeOf(runtime);
    };
    await using editor = await editorAt(open, {
      capabilities: { fs: { readTextFile: true } },
      unsaved: { [folder.at("a.txt")]: "unsaved" },
    });
    await prompt(editor, await newSession(editor, folder.path), "Read it.");
    const sent = JSON.stringify(model.calls[1]?.prompt);
    expect(sent).toContain("unsaved");
  });
});

describe("an approval", () => {
  it.each([
    ["allow", "completed", ["a", "b"]],
    ["allow-always", "completed", ["a"]],
    ["reject", "failed", ["a", "b"]],
    ["reject-always", "failed", ["a"]],
  ] as const)("is answered with %s", async (optionId, status, asked) => {
    await using runtime = await memoryRuntime(writing("a", "b"));
    await using editor = await opened(runtime, { permission: async () => optionId });
    expect(await prompt(editor, editor.session, "Write.")).toBe("end_turn");
    expect(statusesOf(editor).at(-1)).toEqual(["2/b", status]);
    const ids = editor.asked.map(({ toolCall }) => toolCall.toolCallId.split("/")[1]);
    expect(ids).toEqual(asked);
    expect(editor.asked[0]?.options.map(({ kind }) => kind)).toEqual([
      "allow_once",
      "allow_always",
      "reject_once",
      "reject_always",
    ]);
    expect(editor.reports).toEqual([]);
  });

  it("shows the change against the file that is there", async () => {
    await using folder = await temporaryFolder({ "a.txt": "old" });
    await using runtime = await memoryRuntime(writing("a"));
    await using editor = await editorAt(async () => storeOf(runtime), {
      permission: async () => "allow",
    });
    await prompt(editor, await newSession(editor, folder.path), "Write.");
    const path = folder.at("a.txt");
    expect(editor.asked[0]?.toolCall.content).toEqual([
      { type: "diff", path, oldText: "old", newText: "new" },
    ]);
  });

  it("that is answered elsewhere is taken back", async () => {
    await using runtime = await memoryRuntime(writing("a"));
    const ended = Promise.withResolvers<void>();
    await using editor = await opened(runtime, {
      permission: async (_, signal) => {
        signal.addEventListener("abort", () => ended.resolve());
        await ended.promise;
        return undefined;
      },
    });
    const prompted = prompt(editor, editor.session, "Write.");
    await eventually(() => expect(editor.asked).toHaveLength(1));
    const session = await runtime.session(editor.session);
    const [approval] = (await session.view()).approvals;
    await session.approve(approval?.approvalId ?? "");
    await ended.promise;
    expect(await prompted).toBe("end_turn");
  });

  it("is open when the editor has died, is asked again at the load, and counts then", async () => {
    await using runtime = await memoryRuntime(writing("a"));
    let session = "";
    {
      await using editor = await opened(runtime);
      ({ session } = editor);
      prompt(editor, session, "Write.").catch(() => {});
      await eventually(() => expect(editor.asked).toHaveLength(1));
    }
    await using editor = await editorAt(async () => storeOf(runtime), {
      permission: async () => "allow",
    });
    await editor.agent.request("session/load", { ...opening, sessionId: session });
    await eventually(() => expect(editor.said("agent_message_chunk")).toBe("Done."));
    expect(editor.asked).toHaveLength(1);
    expect(statusesOf(editor)).toEqual([
      ["1/a", "pending"],
      ["1/a", "in_progress"],
      ["1/a", "completed"],
    ]);
  });

  it("that is answered after the cancel changes nothing", async () => {
    await using runtime = await memoryRuntime(writing("a"));
    const answer = Promise.withResolvers<string>();
    await using editor = await opened(runtime, { permission: () => answer.promise });
    const prompted = prompt(editor, editor.session, "Write.");
    await eventually(() => expect(editor.asked).toHaveLength(1));
    await editor.agent.notify("session/cancel", { sessionId: editor.session });
    expect(await prompted).toBe("cancelled");
    answer.resolve("allow");
    expect(await prompt(editor, editor.session, "On.")).toBe("end_turn");
    expect(statusesOf(editor)).toEqual([
      ["1/a", "pending"],
      ["1/a", "failed"],
    ]);
    expect(editor.reports).toEqual([]);
  });

  it.each([
    ["allow", "completed"],
    ["read-only", "failed"],
  ] as const)("is not asked in the mode %s", async (value, status) => {
    await using runtime = await memoryRuntime(writing("a"));
    await using editor = await opened(runtime);
    const option = { sessionId: editor.session, configId: "mode", value };
    await editor.agent.request("session/set_config_option", option);
    expect(await prompt(editor, editor.session, "Write.")).toBe("end_turn");
    expect(statusesOf(editor).at(-1)).toEqual(["1/a", status]);
    expect(editor.asked).toEqual([]);
    const { approvals } = await (await runtime.session(editor.session)).view();
    expect(approvals[0]).toMatchObject({ answer: { reason: `the editor's mode is ${value}` } });
  });

  it("of a sub-agent is asked in the session that the editor shows", async () => {
    const research = agentTool({ agent: writing("a"), description: "Writes." });
    const call = {
      type: "tool-call",
      toolName: "research",
      toolCallId: "r",
      input: { task: "Write." },
    } as const;
    await using runtime = await memoryRuntime({
      model: scriptedModel([{ parts: [call] }, "Both done."]),
      tools: { research },
    });
    await using editor = await opened(runtime, { permission: async () => "allow" });
    expect(await prompt(editor, editor.session, "Delegate.")).toBe("end_turn");
    expect(editor.asked).toMatchObject([{ sessionId: editor.session }]);
    expect(editor.said("agent_message_chunk")).toBe("Both done.");
    const { sessions } = await editor.agent.request("session/list", {});
    expect(sessions).toHaveLength(1);
  });
});

describe("a question of a tool", () => {
  const schema = { type: "object", properties: { seats: { type: "integer" } } };
  const book = tool({
    inputSchema: z.object({}),
    execute: (_, options) => {
      const question = { kind: "form", from: "Bookings", message: "How many?", schema } as const;
      return `${JSON.stringify(askPerson(options, question).content["seats"])} seats`;
    },
  });
  const call = { type: "tool-call", toolName: "book", toolCallId: "a", input: {} } as const;
  const booking = (): Agent => ({
    model: scriptedModel([{ parts: [call] }, "Booked."]),
    tools: { book },
  });

  it("is a form of the editor, and its answer reaches the tool", async () => {
    await using runtime = await memoryRuntime(booking());
    await using editor = await opened(runtime, {
      capabilities: { elicitation: { form: {} } },
      elicit: () => ({ action: "accept", content: { seats: 2 } }),
    });
    await prompt(editor, editor.session, "Book.");
    const requestedSchema: unknown = expect.objectContaining(schema);
    expect(editor.elicited).toMatchObject([
      { mode: "form", sessionId: editor.session, message: "Bookings: How many?", requestedSchema },
    ]);
    expect(JSON.stringify(editor.updates)).toContain("2 seats");
  });

  it("can only be rejected in an editor without forms, and is answered elsewhere", async () => {
    await using runtime = await memoryRuntime(booking());
    await using editor = await opened(runtime);
    const prompted = prompt(editor, editor.session, "Book.");
    await eventually(() => expect(editor.asked).toHaveLength(1));
    expect(editor.asked[0]?.options.map(({ kind }) => kind)).toEqual(["reject_once"]);
    const session = await runtime.session(editor.session);
    const [approval] = (await session.view()).approvals;
    await session.approve(approval?.approvalId ?? "", { content: { seats: 3 } });
    expect(await prompted).toBe("end_turn");
  });
});

describe("a load", () => {
  it("shows the conversation as it was streamed, and continues with what comes", async () => {
    const stop = gate();
    await using runtime = await memoryRuntime({
      model: scriptedModel([
        { parts: [{ type: "text", deltas: ["First. "] }, asks("a")] },
        "Second. ",
        { parts: [{ type: "text", deltas: ["Thi", stop, "rd."] }] },
      ]),
      tools: { write },
    });
    await using first = await opened(runtime);
    await prompt(first, first.session, "Go. ");
    const going = prompt(first, first.session, "On.");
    await stop.reached;
    await eventually(() => expect(first.said("agent_message_chunk")).toMatch(/Thi$/));
    await using second = await editorAt(async () => storeOf(runtime));
    await second.agent.request("session/load", { ...opening, sessionId: first.session });
    expect(second.said("agent_message_chunk")).toBe("First. Second. Thi");
    expect(second.said("user_message_chunk")).toBe("Go. On.");
    expect(statusesOf(second)).toEqual([["1/a", "completed"]]);
    stop.open();
    await going;
    await eventually(() =>
      expect(second.said("agent_message_chunk")).toBe("First. Second. Third."),
    );
  });

  it("in the middle of a prompt shows nothing twice after it, and the prompt ends", async () => {
    const stop = gate();
    await using runtime = await memoryRuntime({
      model: scriptedModel([{ parts: [{ type: "text", deltas: ["One ", stop, "two."] }] }]),
    });
    await using editor = await opened(runtime);
    const prompted = prompt(editor, editor.session, "Go.");
    await stop.reached;
    await eventually(() => expect(editor.said("agent_message_chunk")).toBe("One "));
    await editor.agent.request("session/load", { ...opening, sessionId: editor.session });
    stop.open();
    expect(await prompted).toBe("end_turn");
    // As it streamed, and once more as it was loaded.
    expect(editor.said("agent_message_chunk")).toBe("One One two.");
  });

  it("resumes without showing what was", async () => {
    await using runtime = await memoryRuntime({ model: scriptedModel(["One.", "Two."]) });
    await using first = await opened(runtime);
    await prompt(first, first.session, "1");
    await using second = await editorAt(async () => storeOf(runtime));
    await second.agent.request("session/resume", { ...opening, sessionId: first.session });
    await prompt(second, first.session, "2");
    expect(second.said("agent_message_chunk")).toBe("Two.");
    expect(first.said("agent_message_chunk")).toBe("One.Two.");
    expect(first.said("user_message_chunk")).toBe("2");
  });
});

describe("an editor that obeys no order", () => {
  it("is refused before `initialize`", async () => {
    await using runtime = await memoryRuntime({ model: scriptedModel([]) });
    await using editor = await editorAt(async () => storeOf(runtime), { initializes: false });
    await expect(newSession(editor)).rejects.toMatchObject({ code: -32_600 });
    await expect(prompt(editor, "s", "Hi.")).rejects.toMatchObject({ code: -32_600 });
  });

  it("may write lines that are no messages", async () => {
    await using runtime = await memoryRuntime({ model: scriptedModel(() => "Hello.") });
    await using editor = await opened(runtime);
    // The library says on stderr what answers nothing.
    const said = vi.spyOn(console, "error").mockReturnValue();
    for (const line of ["{", "[]", "17", '{"id":1}', "\u0000", '{"jsonrpc":"2.0","id":9}'])
      await editor.raw(`${line}\n`);
    expect(await prompt(editor, editor.session, "Hi.")).toBe("end_turn");
    said.mockRestore();
  });

  it("may give up a prompt, which cancels its turn", async () => {
    const stop = gate();
    await using runtime = await memoryRuntime({
      model: scriptedModel([{ parts: [{ type: "text", deltas: ["One", stop] }] }]),
    });
    await using editor = await opened(runtime);
    const left = new AbortController();
    const given = { sessionId: editor.session, prompt: [{ type: "text" as const, text: "Go." }] };
    const prompted = editor.agent.request("session/prompt", given, {
      cancellationSignal: left.signal,
    });
    await stop.reached;
    left.abort();
    expect(await prompted).toEqual({ stopReason: "cancelled" });
  });
});

it("leaves its turns running when it goes", async () => {
  const stop = gate();
  await using runtime = await memoryRuntime({
    model: scriptedModel([{ parts: [{ type: "text", deltas: ["One ", stop, "two."] }] }]),
  });
  let session = "";
  {
    await using editor = await opened(runtime);
    ({ session } = editor);
    prompt(editor, session, "Go.").catch(() => {});
    await stop.reached;
  }
  stop.open();
  await (await runtime.session(session)).idle();
  const { history } = await (await runtime.session(session)).view();
  expect(history.at(-1)).toMatchObject({ kind: "turn-end", reason: "stop" });
});

it("changes the model by the option `model`", async () => {
  await using runtime = await memoryRuntime({ model: scriptedModel(() => "First.") });
  const others: Readonly<Record<string, string>> = { one: "First.", two: "Second." };
  let current = "one";
  const models = {
    names: ["one", "two"],
    current: () => current,
    change: async (id: string, name: string) => {
      const model = scriptedModel(() => others[name] ?? "");
      await (await runtime.session(id)).configure({ model });
      current = name;
    },
  };
  await using editor = await editorAt(async () => storeOf(runtime, models));
  const sessionId = await newSession(editor);
  await prompt(editor, sessionId, "1");
  const { configOptions } = await editor.agent.request("session/set_config_option", {
    sessionId,
    configId: "model",
    value: "two",
  });
  expect(configOptions).toMatchObject([{ id: "mode" }, { id: "model", currentValue: "two" }]);
  await prompt(editor, sessionId, "2");
  expect(editor.said("agent_message_chunk")).toBe("First.Second.");
});

it("continues at the next process, and the next, when the one that had the store open has gone", async () => {
  const stops = [gate(), gate()];
  const replies = ["One ", "two ", "three."];
  await using folder = await temporaryFolder();
  const dir = folder.at("store");
  const runtimes: Runtime[] = [];
  // After the editor, which would open another one.
  await using _ = { [Symbol.asyncDispose]: async () => await runtimes.at(-1)?.close() };
  await using editor = await editorAt(async () => {
    const stop = stops[runtimes.length];
    const deltas = [replies[runtimes.length] ?? "", ...(stop === undefined ? [] : [stop])];
    const model = scriptedModel(() => ({ parts: [{ type: "text", deltas }] }));
    // The one before may still be closing.
    const options = { dir, recovery: "continue", agent: { model } } as const;
    runtimes.push(await eventually(() => createRuntime(options)));
    return await ownerOf(dir);
  });
  const prompted = prompt(editor, await newSession(editor), "Go.");
  for (const [index, stop] of stops.entries()) {
    await stop.reached;
    const said = replies.slice(0, index + 1).join("");
    await eventually(() => expect(editor.said("agent_message_chunk")).toBe(said));
    await runtimes[index]?.close();
  }
  expect(await prompted).toBe("end_turn");
  expect(editor.said("agent_message_chunk")).toBe("One two three.");
});

it("asks the next process when the one that it asked before has gone", async () => {
  await using folder = await temporaryFolder();
  const dir = folder.at("store");
  const runtimes: Runtime[] = [];
  await using _ = { [Symbol.asyncDispose]: async () => await runtimes.at(-1)?.close() };
  await using editor = await editorAt(async () => {
    const options = { dir, agent: { model: scriptedModel([]) } };
    runtimes.push(await eventually(() => createRuntime(options)));
    return await ownerOf(dir);
  });
  for (let times = 1; times <= 2; times++) {
    expect(await editor.agent.request("session/list", {})).toEqual({ sessions: [] });
    if (times === 1) await runtimes[0]?.close();
  }
  expect(runtimes).toHaveLength(2);
});
