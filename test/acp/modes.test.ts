/** The modes of two editors that have one session open. */

import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Agent } from "../../src/agent/index.ts";
import { scriptedModel } from "../../src/public/testing.ts";
import { editorAt, memoryRuntime, newSession, prompt, storeOf } from "./editor.ts";

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
