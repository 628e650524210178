/** The examples that a user starts in a folder of their own, as processes. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { readUIMessageStream, type UIMessage } from "ai";
import { expect, it } from "vitest";
import { chatTransport, createClient } from "../../src/public/client.ts";
import { cleanEnvironment } from "../cli/command-line.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";

const example = (name: string): string =>
  fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

it("quickstart.ts answers, with the session in the store of the folder", async () => {
  await using folder = await temporaryFolder({});
  const options = { cwd: folder.path, env: cleanEnvironment({}) };
  const program = example("quickstart.ts");
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program], options);
  expect(stdout).toBe("It is sunny in Ulm.\nTurn 1 of this session, 9 tokens\n");
  expect(stderr).toBe("");
  expect(existsSync(folder.at(".turnlog"))).toBe(true);
});

it("the chat server serves its page, and a session to `useChat`", async () => {
  await using folder = await temporaryFolder({});
  const options = { cwd: folder.path, env: cleanEnvironment({ PORT: "0" }) };
  const server = spawn(process.execPath, [example("chat-server/server.ts")], options);
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const url = line.toString().trim();
  expect(await (await fetch(url)).text()).toContain('src="page.js"');
  expect(await (await fetch(`${url}/page.js`)).text()).toContain("sendMessage");
  const client = createClient({ baseUrl: url });
  const message: UIMessage = { id: "m", role: "user", parts: [{ type: "text", text: "Hello" }] };
  const stream = await chatTransport(client).sendMessages({
    chatId: "first",
    messages: [message],
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: undefined,
  });
  const replies = await Array.fromAsync(readUIMessageStream({ stream }));
  const { messages } = await client.session("first").messages();
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(messages[1]?.parts).toEqual(replies.at(-1)?.parts);
  server.kill("SIGTERM");
  expect(await once(server, "exit")).toEqual([0, null]);
});
