/** Every method of the protocol, and what comes of it here: works, refused with an error, or not offered. */

import { expect } from "vitest";
import { newSession, prompt, type ScriptedEditor } from "./editor.ts";

export interface Row {
  readonly method: string;
  readonly case: string;
  /** The code of an error; a word for what works. */
  readonly outcome: "works" | number;
  readonly run: (editor: ScriptedEditor) => Promise<unknown>;
}

const cwd = "/work/folder";
const absent = { sessionId: "absent", cwd, mcpServers: [] };
const hi = [{ type: "text" as const, text: "Hi." }];

export const rows: readonly Row[] = [
  {
    method: "initialize",
    case: "version 1",
    outcome: "works",
    run: async ({ agent }) => {
      const answer = await agent.request("initialize", { protocolVersion: 1 });
      expect(answer).toMatchObject({
        protocolVersion: 1,
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, embeddedContext: true },
          sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
        },
      });
    },
  },
  {
    method: "authenticate",
    case: "the keys of models are in the environment",
    outcome: -32_601,
    run: ({ agent }) => agent.request("authenticate", { methodId: "key" }),
  },
  {
    method: "logout",
    case: "there is no login",
    outcome: -32_601,
    run: ({ agent }) => agent.request("logout", {}),
  },
  { method: "session/new", case: "an absolute folder", outcome: "works", run: newSession },
  {
    method: "session/new",
    case: "a relative folder",
    outcome: -32_602,
    run: ({ agent }) => agent.request("session/new", { cwd: "folder", mcpServers: [] }),
  },
  {
    method: "session/load",
    case: "any session of the store",
    outcome: "works",
    run: async (editor) => {
      const sessionId = await newSession(editor);
      return await editor.agent.request("session/load", { ...absent, sessionId });
    },
  },
  {
    method: "session/load",
    case: "no session",
    outcome: -32_002,
    run: ({ agent }) => agent.request("session/load", absent),
  },
  {
    method: "session/resume",
    case: "any session of the store",
    outcome: "works",
    run: async (editor) => {
      const sessionId = await newSession(editor);
      return await editor.agent.request("session/resume", { ...absent, sessionId });
    },
  },
  {
    method: "session/resume",
    case: "no session",
    outcome: -32_002,
    run: ({ agent }) => agent.request("session/resume", absent),
  },
  {
    method: "session/list",
    case: "those of a folder, or all",
    outcome: "works",
    run: async (editor) => {
      const sessionId = await newSession(editor);
      await prompt(editor, sessionId, "Hi.");
      const { sessions } = await editor.agent.request("session/list", { cwd });
      expect(sessions).toMatchObject([{ sessionId, cwd, title: "Hi." }]);
      const others = await editor.agent.request("session/list", { cwd: "/elsewhere" });
      expect(others.sessions).toEqual([]);
    },
  },
  {
    method: "session/close",
    case: "a session that this editor has open",
    outcome: "works",
    run: async (editor) => {
      const sessionId = await newSession(editor);
      await editor.agent.request("session/close", { sessionId });
      await expect(prompt(editor, sessionId, "Hi.")).rejects.toMatchObject({ code: -32_002 });
    },
  },
  {
    method: "session/delete",
    case: "forever",
    outcome: "works",
    run: async (editor) => {
      const sessionId = await newSession(editor);
      await editor.agent.request("session/delete", { sessionId });
      const again = editor.agent.request("session/load", { ...absent, sessionId });
      await expect(again).rejects.toMatchObject({ code: -32_002 });
    },
  },
  {
    method: "session/prompt",
    case: "text, images, resources and `@` files",
    outcome: "works",
    run: async (editor) => {
      expect(await prompt(editor, await newSession(editor), "Hi.")).toBe("end_turn");
    },
  },
  {
    method: "session/prompt",
    case: "audio",
    outcome: -32_602,
    run: async (editor) =>
      await editor.agent.request("session/prompt", {
        sessionId: await newSession(editor),
        prompt: [{ type: "audio", data: "AAAA", mimeType: "audio/wav" }],
      }),
  },
  {
    method: "session/prompt",
    case: "a session that this editor has not open",
    outcome: -32_002,
    run: ({ agent }) => agent.request("session/prompt", { sessionId: "absent", prompt: hi }),
  },
  {
    method: "session/cancel",
    case: "also without a turn",
    outcome: "works",
    run: async (editor) => {
      const sessionId = await newSession(editor);
      await editor.agent.notify("session/cancel", { sessionId });
      await editor.agent.notify("session/cancel", { sessionId: "absent" });
      expect(await prompt(editor, sessionId, "Hi.")).toBe("end_turn");
    },
  },
  {
    method: "session/set_config_option",
    case: "`mode` and `model`",
    outcome: "works",
    run: async (editor) => {
      const { configOptions } = await editor.agent.request("session/set_config_option", {
        sessionId: await newSession(editor),
        configId: "mode",
        value: "allow",
      });
      expect(configOptions).toMatchObject([{ id: "mode", currentValue: "allow" }]);
    },
  },
  {
    method: "session/set_config_option",
    case: "another value",
    outcome: -32_602,
    run: async (editor) => {
      const option = { sessionId: await newSession(editor), configId: "mode", value: "yolo" };
      return await editor.agent.request("session/set_config_option", option);
    },
  },
  {
    method: "session/set_mode",
    case: "it is the option `mode`",
    outcome: -32_601,
    run: async (editor) => {
      const sessionId = await newSession(editor);
      return await editor.agent.request("session/set_mode", { sessionId, modeId: "ask" });
    },
  },
];

/** What the editor is asked; another test shows each. */
const asked: readonly (readonly [method: string, when: string, here: string])[] = [
  ["session/update", "messages, thoughts, calls, usage, titles", "sent"],
  ["session/request_permission", "a call waits for an approval", "asked"],
  ["elicitation/create", "a tool asks for a form or an address", "asked"],
  ["fs/read_text_file", "`read_file` of the chat's agent, and files of a prompt", "asked"],
  ["fs/write_text_file", "tools write to the disk", "not used"],
  ["terminal/create", "there is no tool that runs commands", "not used"],
];

/** As the guide has it. */
export function table(): string {
  const words: Readonly<Record<string, string>> = {
    works: "works",
    "-32601": "not offered (−32601)",
    "-32602": "refused (−32602)",
    "-32002": "refused (−32002)",
  };
  return [
    "| method | of what | here |",
    "|---|---|---|",
    ...rows.map((row) => `| \`${row.method}\` | ${row.case} | ${words[row.outcome]} |`),
    ...asked.map(([method, when, here]) => `| \`${method}\` | ${when} | ${here} |`),
  ].join("\n");
}
