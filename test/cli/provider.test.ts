/** A real provider client against a server of our own: what it is sent, and what becomes of its answer. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createGateway } from "ai";
import { pathToFileURL } from "node:url";
import { run, runProcess, sessionOf } from "./command-line.ts";
import { fakeServer, streamChunks, streamEvents, type Reply } from "./fake-server.ts";
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

  it.each(["reasoning_content", "reasoning"])(
    "is shown to reason by its %s, and gets it back with the next request",
    async (field) => {
      await using server = await fakeServer((request, response) => {
        if (request.body.messages?.some(({ role }) => role === "tool") === true)
          return readsTheFile(request, response);
        const call = { name: "read_file", arguments: '{"path":"secret.txt"}' };
        const tool_calls = [{ index: 0, id: "call-1", type: "function", function: call }];
        return streamChunks(response, [
          { delta: { role: "assistant", [field]: "Let me " }, finish_reason: null },
          { delta: { [field]: "look." }, finish_reason: null },
          { delta: { tool_calls }, finish_reason: null },
          { delta: {}, finish_reason: "tool_calls" },
        ]);
      });
      await using folder = await temporaryFolder({ "secret.txt": "forty-two" });
      const ended = await run(["--model", `${server.url}#deep`, "what does secret.txt say?"], {
        cwd: folder.path,
      });
      expect(ended).toMatchObject({ code: 0, stdout: "It says forty-two\n" });
      expect(ended.stderr).toMatch(/^Let me look\.\n→ read_file/m);
      const said = server.requests[1]?.body.messages?.find(({ role }) => role === "assistant");
      expect(said).toMatchObject({ reasoning_content: "Let me look." });
    },
  );

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
    const ended = await run(["hello there"], {
      cwd: folder.path,
      env: { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" },
    });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain("--model openai:<model>");
  });
});

describe("a provider by its name", () => {
  const usage = { input_tokens: 9, output_tokens: 2 };
  const claude: Reply = (_request, response) =>
    streamEvents(response, [
      {
        type: "message_start",
        message: {
          id: "m",
          type: "message",
          role: "assistant",
          model: "claude-opus-5-5",
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage,
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: "I am Claude." },
      },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
      { type: "message_stop" },
    ]);

  it("is asked by its own protocol, with its key, when its package is installed", async () => {
    await using server = await fakeServer(claude);
    await using folder = await temporaryFolder();
    const env = { ANTHROPIC_API_KEY: "key-a", ANTHROPIC_BASE_URL: server.url };
    for (const model of [["--model", "anthropic:claude-opus-5-5"], []]) {
      // The package reads its address once, when it is loaded: other tests of this process may have done so.
      const ended = await runProcess([...model, "who are you?"], { cwd: folder.path, env });
      expect(ended).toMatchObject({ code: 0, stdout: "I am Claude.\n" });
      expect(ended.stderr).toContain("anthropic:claude-opus-5-5");
    }
    expect(
      server.requests.map(({ path, headers, body }) => [path, headers["x-api-key"], body.model]),
    ).toEqual([
      ["/v1/messages", "key-a", "claude-opus-5-5"],
      ["/v1/messages", "key-a", "claude-opus-5-5"],
    ]);
  });

  it("whose package is not installed is a question of usage that says how to install it", async () => {
    const hook = `
      import { registerHooks } from "node:module";
      const missing = (name) => (name === "@ai-sdk/anthropic" ? "@ai-sdk/not-there" : name);
      registerHooks({ resolve: (name, context, next) => next(missing(name), context) });`;
    await using folder = await temporaryFolder({ "hook.mjs": hook });
    const { code, stderr } = await runProcess(["--model", "anthropic:claude-opus-5-5", "hello"], {
      cwd: folder.path,
      env: { ANTHROPIC_API_KEY: "key-a" },
      node: ["--import", pathToFileURL(folder.at("hook.mjs")).href],
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /@ai-sdk\/anthropic, which is not installed .*npm install @ai-sdk\/anthropic/,
    );
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it("of the gateway is asked there", async () => {
    await using server = await fakeServer((_request, response) =>
      streamEvents(response, [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "0" },
        { type: "text-delta", id: "0", delta: "Through the gateway." },
        { type: "text-end", id: "0" },
        {
          type: "finish",
          finishReason: { unified: "stop", raw: "stop" },
          usage: { inputTokens: { total: 3 }, outputTokens: { total: 2 } },
        },
      ]),
    );
    await using folder = await temporaryFolder();
    globalThis.AI_SDK_DEFAULT_PROVIDER = createGateway({ apiKey: "g", baseURL: server.url });
    try {
      const ended = await run(["--model", "anthropic/claude-opus-5-5", "hello"], {
        cwd: folder.path,
        env: { AI_GATEWAY_API_KEY: "g" },
      });
      expect(ended).toMatchObject({ code: 0, stdout: "Through the gateway.\n" });
    } finally {
      globalThis.AI_SDK_DEFAULT_PROVIDER = undefined;
    }
    expect(server.requests.map(({ headers }) => headers["ai-language-model-id"])).toEqual([
      "anthropic/claude-opus-5-5",
    ]);
  });

  it("is a server by its address, which gets no key of another one", async () => {
    await using server = await fakeServer(readsTheFile);
    await using folder = await temporaryFolder({ "secret.txt": "forty-two" });
    const { code, stdout } = await run(
      ["--model", `${server.url}#llama3.2:3b`, "what does secret.txt say?"],
      { cwd: folder.path, env: { OPENAI_API_KEY: "key-of-mine" } },
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: "It says forty-two\n" });
    expect(server.requests[0]).toMatchObject({
      path: "/v1/chat/completions",
      body: { model: "llama3.2:3b" },
    });
    expect(JSON.stringify(server.requests[0]?.headers)).not.toContain("key-of-mine");
  });
});
