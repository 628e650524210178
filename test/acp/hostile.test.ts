/** What an editor does at a bad moment, and what others do to the sessions that it has open. */

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { tool } from "ai";
import type * as acp from "@agentclientprotocol/sdk";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import type { Agent } from "../../src/agent/index.ts";
import { askPerson } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/public/testing.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { eventually } from "../support/eventually.ts";
import { editorAt, memoryRuntime, newSession, prompt, storeOf } from "./editor.ts";

vi.setConfig({ testTimeout: 15_000 });

const opening = { cwd: "/work/folder", mcpServers: [] };
const write = tool({
  inputSchema: z.object({ path: z.string(), text: z.string() }),
  execute: () => "written",
});
const asks = { type: "tool-call", toolName: "write", toolCallId: "a" } as const;
const writing = (path = "a.txt"): Agent => ({
  model: scriptedModel([{ parts: [{ ...asks, input: { path, text: "new" } }] }, "Done.", "Done."]),
  tools: { write },
  toolApproval: { write: "user-approval" },
});

it("shows nothing twice when a session is loaded twice at once", async () => {
  await using runtime = await memoryRuntime({ model: scriptedModel(() => "Hello.") });
  const id = (await runtime.session("s", { metadata: { cwd: "/work/folder" } })).id;
  await using editor = await editorAt(async () => storeOf(runtime));
  const load = { ...opening, sessionId: id };
  await Promise.all([
    editor.agent.request("session/resume", load),
    editor.agent.request("session/resume", load),
  ]);
  expect(await prompt(editor, id, "Hi.")).toBe("end_turn");
  expect(editor.said("agent_message_chunk")).toBe("Hello.");
});

it("loads a session that it has open twice at once, and shows what comes once", async () => {
  await using runtime = await memoryRuntime({ model: scriptedModel(() => "Hello.") });
  await using editor = await editorAt(async () => storeOf(runtime));
  const sessionId = await newSession(editor);
  const load = { ...opening, sessionId };
  await Promise.all([1, 2, 3].map(() => editor.agent.request("session/resume", load)));
  expect(await prompt(editor, sessionId, "Hi.")).toBe("end_turn");
  expect(editor.said("agent_message_chunk")).toBe("Hello.");
});

it("ends its prompt when somebody else deletes the session", async () => {
  const stop = gate();
  await using runtime = await memoryRuntime({
    model: scriptedModel([{ parts: [{ type: "text", deltas: ["One.", stop] }] }]),
  });
  await using editor = await editorAt(async () => storeOf(runtime));
  const sessionId = await newSession(editor);
  const prompted = prompt(editor, sessionId, "Hi.").catch((error: unknown) => error);
  await stop.reached;
  await storeOf(runtime).client.session(sessionId).delete({ cancel: true });
  expect(await prompted).toSatisfy((end) => end === "cancelled" || end instanceof Error);
});

it("asks again what the editor has left open, when it loads the session once more", async () => {
  await using runtime = await memoryRuntime(writing());
  const answers: (string | undefined)[] = [undefined, "allow"];
  await using editor = await editorAt(async () => storeOf(runtime), {
    permission: async () => answers.shift(),
  });
  const sessionId = await newSession(editor);
  prompt(editor, sessionId, "Write.").catch(() => {});
  await eventually(() => expect(editor.asked).toHaveLength(1));
  await editor.agent.request("session/load", { ...opening, sessionId });
  await eventually(() => expect(editor.asked).toHaveLength(2));
});

it("asks for a form again when its values do not fit", async () => {
  const schema = {
    type: "object",
    properties: { seats: { type: "integer" } },
    required: ["seats"],
  };
  const book = tool({
    inputSchema: z.object({}),
    execute: (_, options) => {
      const question = { kind: "form", from: "Bookings", message: "How many?", schema } as const;
      return JSON.stringify(askPerson(options, question).content);
    },
  });
  const call = { type: "tool-call", toolName: "book", toolCallId: "a", input: {} } as const;
  const model = scriptedModel([{ parts: [call] }, "Booked."]);
  await using runtime = await memoryRuntime({ model, tools: { book } });
  const values = [{ seats: "many" }, { seats: 2 }];
  await using editor = await editorAt(async () => storeOf(runtime), {
    capabilities: { elicitation: { form: {} } },
    elicit: () => ({ action: "accept", content: values.shift() ?? {} }),
  });
  const sessionId = await newSession(editor);
  const prompted = prompt(editor, sessionId, "Book.");
  expect(await prompted).toBe("end_turn");
});

it("cancels one prompt that is given up, and not the turn before it", async () => {
  const stop = gate();
  await using runtime = await memoryRuntime({
    model: scriptedModel([{ parts: [{ type: "text", deltas: ["One.", stop] }] }, "Two."]),
  });
  await using editor = await editorAt(async () => storeOf(runtime));
  const sessionId = await newSession(editor);
  const first = prompt(editor, sessionId, "1");
  await stop.reached;
  const left = new AbortController();
  const blocks: acp.ContentBlock[] = [{ type: "text", text: "2" }];
  const second = editor.agent
    .request("session/prompt", { sessionId, prompt: blocks }, { cancellationSignal: left.signal })
    .catch((error: unknown) => error);
  const session = await runtime.session(sessionId);
  await eventually(async () => expect((await session.view()).queue).toHaveLength(1));
  left.abort();
  await second;
  await eventually(async () => expect((await session.view()).queue).toHaveLength(0));
  stop.open();
  expect(await first).toBe("end_turn");
});

it("leaves the turn of others running when it closes a session in which its prompt waits", async () => {
  const stop = gate();
  await using runtime = await memoryRuntime({
    model: scriptedModel([{ parts: [{ type: "text", deltas: ["One.", stop] }] }, "Two."]),
  });
  await using editor = await editorAt(async () => storeOf(runtime));
  await using other = await editorAt(async () => storeOf(runtime));
  const sessionId = await newSession(editor);
  await other.agent.request("session/load", { ...opening, sessionId });
  const first = prompt(editor, sessionId, "1");
  await stop.reached;
  const second = prompt(other, sessionId, "2");
  const session = await runtime.session(sessionId);
  await eventually(async () => expect((await session.view()).queue).toHaveLength(1));
  await other.agent.request("session/close", { sessionId });
  expect(await second).toBe("cancelled");
  stop.open();
  expect(await first).toBe("end_turn");
});

it("sends nothing of a prompt that is cancelled while its files are read", async () => {
  const reading = Promise.withResolvers<void>();
  const read = Promise.withResolvers<readonly string[]>();
  await using runtime = await memoryRuntime({ model: scriptedModel(() => "Hello.") });
  await using editor = await editorAt(
    async () => storeOf(runtime),
    {},
    async () => {
      reading.resolve();
      return await read.promise;
    },
  );
  const sessionId = await newSession(editor);
  const prompted = prompt(editor, sessionId, "Hi.");
  await reading.promise;
  await editor.agent.notify("session/cancel", { sessionId });
  // The notification has come when this is answered.
  await editor.agent.request("session/list", {});
  read.resolve([]);
  expect(await prompted).toBe("cancelled");
  expect((await (await runtime.session(sessionId)).view()).history).toEqual([]);
});

it("asks about the file that the tool will write, whatever folder the editor names later", async () => {
  await using own = await temporaryFolder({ "a.txt": "real" });
  await using other = await temporaryFolder({ "a.txt": "another" });
  await using runtime = await memoryRuntime(writing());
  let sessionId = "";
  {
    await using editor = await editorAt(async () => storeOf(runtime));
    sessionId = await newSession(editor, own.path);
  }
  await using editor = await editorAt(async () => storeOf(runtime), {
    permission: async () => "allow",
  });
  await editor.agent.request("session/load", { sessionId, cwd: other.path, mcpServers: [] });
  await prompt(editor, sessionId, "Write.");
  expect(editor.asked[0]?.toolCall.locations).toEqual([{ path: join(own.path, "a.txt") }]);
});

it("asks about a path that never ends", async () => {
  await using folder = await temporaryFolder({});
  const path = folder.at("pipe");
  execFileSync("mkfifo", [path]);
  await using runtime = await memoryRuntime(writing(path));
  await using editor = await editorAt(async () => storeOf(runtime), {
    permission: async () => "allow",
  });
  const sessionId = await newSession(editor);
  expect(await prompt(editor, sessionId, "Write.")).toBe("end_turn");
});

it("delivers a prompt behind a turn that failed before the editor came", async () => {
  const stop = gate();
  await using runtime = await memoryRuntime({
    model: scriptedModel((_, index) =>
      index > 0
        ? "Two."
        : {
            parts: [
              { type: "text", deltas: ["One.", stop] },
              { type: "break", error: new Error("no money") },
            ],
          },
    ),
    maxRetries: 0,
  });
  const session = await runtime.session("s");
  const first = await session.send("1");
  await stop.reached;
  await session.send("2");
  stop.open();
  await first.result.catch(() => {});
  await using editor = await editorAt(async () => storeOf(runtime));
  await editor.agent.request("session/load", { ...opening, sessionId: "s" });
  expect(await prompt(editor, "s", "3")).toBe("end_turn");
});

it.each(["a/b", "a%2e%2e", "a/../b", "a@(b)!"])(
  "opens, shows and deletes the session %s, and no other",
  async (id) => {
    await using runtime = await memoryRuntime({ model: scriptedModel(() => "Hello.") });
    await (await runtime.session(id)).send("Hi.");
    await using editor = await editorAt(async () => storeOf(runtime));
    await editor.agent.request("session/load", { ...opening, sessionId: id });
    expect(await prompt(editor, id, "Hi.")).toBe("end_turn");
    await editor.agent.request("session/delete", { sessionId: id });
    expect((await editor.agent.request("session/list", {})).sessions).toEqual([]);
  },
);

it.each(["..", ".", "é ☃", "%2e%2e", "__proto__", "a b?c#d"])(
  "takes the name %s for no session",
  async (sessionId) => {
    await using runtime = await memoryRuntime({ model: scriptedModel(() => "Hello.") });
    await using editor = await editorAt(async () => storeOf(runtime));
    const refused = {
      code: expect.toSatisfy((code) => code === -32_602 || code === -32_002) as unknown,
    };
    const load = editor.agent.request("session/load", { ...opening, sessionId });
    await expect(load).rejects.toMatchObject(refused);
    const remove = editor.agent.request("session/delete", { sessionId });
    await expect(remove).rejects.toMatchObject(refused);
  },
);

it("in the mode read-only refuses nothing of what another editor asks for", async () => {
  await using runtime = await memoryRuntime(writing());
  await using editor = await editorAt(async () => storeOf(runtime), {
    permission: async () => "allow",
  });
  await using reader = await editorAt(async () => storeOf(runtime));
  const sessionId = await newSession(editor);
  await reader.agent.request("session/load", { ...opening, sessionId });
  const mode = { sessionId, configId: "mode", value: "read-only" };
  await reader.agent.request("session/set_config_option", mode);
  await prompt(editor, sessionId, "Write.");
  expect(JSON.stringify(editor.updates)).toContain("written");
});
