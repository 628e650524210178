/** A real provider client against a server of our own: what it is sent, and what becomes of its answer. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { run, sessionOf } from "./command-line.ts";
import { fakeServer, streamChunks, type Reply } from "./fake-server.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const readsTheFile: Reply = ({ body }, response) => {
  const result = body.messages?.find(({ role }) => role === "tool");
  if (result === undefined) {
    const call = {
      index: 0,
      id: "call-1",
      type: "function",
      function: { name: "read_file", arguments: '{"path":"secret.txt"}' },
    };
    return streamChunks(response, [
      { delta: { role: "assistant", tool_calls: [call] }, finish_reason: null },
      { delta: {}, finish_reason: "tool_calls" },
    ]);
  }
  const { text } = z
    .object({ text: z.string() })
    .parse(JSON.parse(z.string().parse(result["content"])));
  return streamChunks(response, [
    { delta: { role: "assistant", content: "It says " }, finish_reason: null },
    { delta: { content: text }, finish_reason: null },
    { delta: {}, finish_reason: "stop" },
  ]);
};

describe("a server that OPENAI_BASE_URL names", () => {
  it("is asked by chat completions, without a key, and its tool calls run over the folder", async () => {
    await using server = await fakeServer(readsTheFile);
    await using folder = await temporaryFolder({ "secret.txt": "forty-two" });
    const ended = await run(["--model", "openai:llama3.2:3b", "what does secret.txt say?"], {
      cwd: folder.path,
      env: { OPENAI_BASE_URL: server.url },
    });
    expect(ended).toMatchObject({ code: 0, stdout: "It says forty-two\n" });
    expect(ended.stderr).toMatch(/tokens: 40 in, 10 out · 2 steps/);
    expect(ended.stderr).not.toContain("OPENAI_API_KEY");
    expect(server.requests.map(({ path, body }) => [path, body.model])).toEqual([
      ["/v1/chat/completions", "llama3.2:3b"],
      ["/v1/chat/completions", "llama3.2:3b"],
    ]);
    expect(JSON.stringify(server.requests[0]?.body.tools)).toContain("search_files");
  });

  it("is given the key and the default model when only they are set", async () => {
    await using server = await fakeServer(readsTheFile);
    await using folder = await temporaryFolder({ "secret.txt": "forty-two" });
    const { code } = await run(["what does secret.txt say?"], {
      cwd: folder.path,
      env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "key-1" },
    });
    expect(code).toBe(0);
    expect(server.requests[0]).toMatchObject({
      authorization: "Bearer key-1",
      body: { model: "gpt-6-astra" },
    });
  });

  it("is asked by the responses protocol when the model says so", async () => {
    await using server = await fakeServer((_request, response) => response.writeHead(418).end());
    await using folder = await temporaryFolder();
    await run(["--model", "openai-responses:m", "hello"], {
      cwd: folder.path,
      env: { OPENAI_BASE_URL: server.url },
    });
    expect(server.requests.map(({ path }) => path)).toEqual(["/v1/responses"]);
  });

  it("that refuses ends the turn as failed: exit 1, the server's words, no stack, no key in the log", async () => {
    const refusal = {
      error: { message: "The model m is not here.", type: "not_found", code: 404 },
    };
    await using server = await fakeServer((_request, response) => {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify(refusal));
    });
    await using folder = await temporaryFolder();
    const ended = await run(["--model", "openai:m", "hello"], {
      cwd: folder.path,
      env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "key-of-mine" },
    });
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toMatch(
      /^error: Turn 1 .* failed: The model m is not here\..*\[TURN_FAILED\]$/m,
    );
    expect(ended.stderr).toMatch(/^The turn failed\. Kept in the session: your message\.$/m);
    expect(ended.stderr).not.toMatch(/^\s+at /m);
    const args = ["show", sessionOf(ended), "--view", "events", "--json"];
    const { stdout } = await run(args, { cwd: folder.path });
    expect(stdout).not.toContain("key-of-mine");
  });

  it("that is a proxy's login page ends the turn as failed: exit 1, what came instead, and where to look", async () => {
    await using server = await fakeServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<!doctype html><title>Log in</title>");
    });
    await using folder = await temporaryFolder();
    const ended = await run(["--model", "openai:m", "hello"], {
      cwd: folder.path,
      env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "k" },
    });
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toMatch(
      /^error: Turn 1 .* answered with text\/html .*OPENAI_BASE_URL.* proxy .*\[TURN_FAILED\]$/m,
    );
    expect(server.requests).toHaveLength(1);
  });

  it("without a key and a model's name is a question of usage, not a guess", async () => {
    await using folder = await temporaryFolder();
    const ended = await run(["hello"], {
      cwd: folder.path,
      env: { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" },
    });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain("--model openai:<model>");
  });
});
