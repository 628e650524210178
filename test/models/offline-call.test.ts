/** A call of the offline model behaves as the AI SDK expects of a language model. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { offlineModel } from "../../src/models/offline-model.ts";

const tools: LanguageModelV4FunctionTool[] = ["list_files", "read_file", "search_files"].map(
  (name) => ({ type: "function", name, inputSchema: { type: "object" } }),
);

function user(text: string): LanguageModelV4Prompt[number] {
  return { role: "user", content: [{ type: "text", text }] };
}

/** The messages of a call and its result. */
function exchange(
  toolName: string,
  input: unknown,
  output: LanguageModelV4ToolResultOutput,
): LanguageModelV4Prompt {
  const toolCallId = "call-1";
  return [
    { role: "assistant", content: [{ type: "tool-call", toolCallId, toolName, input }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] },
  ];
}

async function partsOf(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await offlineModel().doStream(options);
  return Array.fromAsync(stream);
}

function textOf(parts: readonly LanguageModelV4StreamPart[]): string {
  return parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");
}

function reasoningOf(parts: readonly LanguageModelV4StreamPart[]): string {
  return parts.map((part) => (part.type === "reasoning-delta" ? part.delta : "")).join("");
}

function finishOf(parts: readonly LanguageModelV4StreamPart[]) {
  const last = parts.at(-1);
  if (last?.type !== "finish") throw new Error("The last part is not a finish part.");
  return last;
}

/** What is wrong with the order of the parts: each block is opened, filled and closed, each call is its input. */
function faultsOf(parts: readonly LanguageModelV4StreamPart[]): readonly string[] {
  const faults: string[] = [];
  const open = new Map<string, string>();
  const inputs = new Map<string, string>();
  for (const part of parts) {
    const [, kind, phase] = /^(text|reasoning|tool-input)-(start|delta|end)$/.exec(part.type) ?? [];
    const key = `${kind} ${"id" in part ? part.id : ""}`;
    if (phase === "start" && open.has(key)) faults.push(`${key} is opened twice`);
    if ((phase === "delta" || phase === "end") && !open.has(key)) faults.push(`${key} is not open`);
    if (phase === "start") open.set(key, "");
    if (phase === "end") open.delete(key);
    if (part.type === "tool-input-delta")
      inputs.set(part.id, (inputs.get(part.id) ?? "") + part.delta);
    if (part.type === "tool-call" && inputs.get(part.toolCallId) !== part.input)
      faults.push(`${part.toolCallId} is not its input`);
  }
  return [...faults, ...[...open.keys()].map((key) => `${key} is never closed`)];
}

const someOutput: fc.Arbitrary<LanguageModelV4ToolResultOutput> = fc.oneof(
  fc.record({ type: fc.constant("text" as const), value: fc.string() }),
  fc.record({ type: fc.constant("error-text" as const), value: fc.string() }),
  fc.record({ type: fc.constant("execution-denied" as const), reason: fc.string() }),
  fc.record({
    type: fc.constant("json" as const),
    value: fc.constantFrom(null, 3, { entries: ["a"] }, { text: "x" }, { matches: [] }),
  }),
);
const someRequest = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "list files",
    "read a.txt",
    "which files mention x?",
    "write x to a.txt",
    "what did you do?",
  ),
);
const someCall = fc
  .tuple(
    fc.constantFrom("list_files", "read_file", "search_files", "other"),
    fc.jsonValue(),
    someOutput,
  )
  .map(([name, input, output]) => exchange(name, input, output));
const somePrompt: fc.Arbitrary<LanguageModelV4Prompt> = fc
  .array(
    fc.oneof(
      someRequest.map((text) => [user(text)]),
      someCall,
    ),
    { maxLength: 8 },
  )
  .map((messages) => messages.flat());

const someAnswer = { output: { type: "text", value: "" }, keepsAll: true } as const;

describe("a call of the offline model", () => {
  it("is a pure function of its options: the same call gives the same parts", async () => {
    await fc.assert(
      fc.asyncProperty(somePrompt, async (prompt) => {
        expect(await partsOf({ prompt, tools })).toEqual(
          await partsOf(structuredClone({ prompt, tools })),
        );
      }),
    );
  });

  it("streams well-formed parts for whatever prompt: blocks opened and closed, one finish, calls of offered tools only", async () => {
    await fc.assert(
      fc.asyncProperty(somePrompt, fc.subarray(tools), async (prompt, offered) => {
        const parts = await partsOf({ prompt, tools: offered });
        expect(faultsOf(parts)).toEqual([]);
        const calls = parts.filter((part) => part.type === "tool-call");
        const names = new Set(offered.map((tool) => tool.name));
        expect(calls.filter((call) => !names.has(call.toolName))).toEqual([]);
        expect(finishOf(parts).finishReason.unified).toBe(calls.length > 0 ? "tool-calls" : "stop");
        expect(textOf(parts) !== "" || calls.length > 0).toBe(true);
      }),
    );
  });

  it("comes to an end whatever the tools answer and however they change its input", async () => {
    const answers = fc.array(fc.record({ output: someOutput, keepsAll: fc.boolean() }), {
      minLength: 1,
    });
    await fc.assert(
      fc.asyncProperty(someRequest, answers, async (words, script) => {
        const prompt: LanguageModelV4Prompt = [user(words)];
        let answered = 0;
        for (let step = 0; step < 12; step += 1) {
          const parts = await partsOf({ prompt, tools });
          const calls = parts.filter((part) => part.type === "tool-call");
          if (calls.length === 0) return;
          for (const { toolName, input } of calls) {
            const { output, keepsAll } = script[answered % script.length] ?? someAnswer;
            const given = Object.entries(
              z.record(z.string(), z.unknown()).parse(JSON.parse(input)),
            );
            const kept = given.filter(([key]) => keepsAll || key === "path" || key === "query");
            prompt.push(...exchange(toolName, Object.fromEntries(kept), output));
            answered += 1;
          }
        }
        throw new Error("The model still calls tools after 12 steps.");
      }),
    );
  });

  it("gives the same content whole as in a stream", async () => {
    const options = {
      prompt: [
        user("read a.txt"),
        ...exchange("read_file", { path: "a.txt" }, { type: "text", value: "hello" }),
      ],
      tools,
    };
    const parts = await partsOf(options);
    const whole = await offlineModel().doGenerate(options);
    expect(whole.content).toEqual([
      { type: "reasoning", text: reasoningOf(parts) },
      { type: "text", text: textOf(parts) },
    ]);
    expect(whole.usage).toEqual(finishOf(parts).usage);
    expect(textOf(parts)).toContain("hello");
    expect(parts.filter((part) => part.type === "text-delta").length).toBeGreaterThan(1);
    expect(parts.filter((part) => part.type === "reasoning-delta").length).toBeGreaterThan(1);
  });

  it("gives calls ids that differ from step to step and from turn to turn", async () => {
    const turn = [
      user("read a.txt"),
      ...exchange("read_file", { path: "a.txt" }, { type: "text", value: "x" }),
    ];
    const ids = await Promise.all(
      [
        [user("read a.txt")],
        [...turn, user("read a.txt")],
        [...turn, ...turn, user("read a.txt")],
      ].map(async (prompt) => {
        const call = (await partsOf({ prompt, tools })).find((part) => part.type === "tool-call");
        return call?.toolCallId;
      }),
    );
    expect(ids).not.toContain(undefined);
    expect(new Set(ids).size).toBe(3);
  });

  it("reports usage by its stated rule: four characters of what was sent and said are a token", async () => {
    const prompt = [
      user("read a.txt"),
      ...exchange("read_file", { path: "a.txt" }, { type: "text", value: "hello" }),
    ];
    const parts = await partsOf({ prompt, tools });
    const { inputTokens, outputTokens } = finishOf(parts).usage;
    expect(inputTokens.total).toBe(Math.ceil(JSON.stringify([prompt, tools]).length / 4));
    expect(outputTokens.text).toBe(Math.ceil(textOf(parts).length / 4));
    expect(outputTokens.reasoning).toBe(Math.ceil(reasoningOf(parts).length / 4));
    expect(outputTokens.total).toBe((outputTokens.text ?? 0) + (outputTokens.reasoning ?? 0));
  });

  it("tells the ends of a call apart: an error in its words, an unknown outcome, a call without a result", async () => {
    const failed = await partsOf({
      prompt: [
        user("read a.txt"),
        ...exchange(
          "read_file",
          { path: "a.txt" },
          { type: "error-text", value: "DiskError: the disk is on fire" },
        ),
      ],
      tools,
    });
    expect(textOf(failed)).toBe("I could not read a.txt: the disk is on fire");
    const strange = await partsOf({
      prompt: [
        user("list files"),
        ...exchange("list_files", { path: "." }, { type: "json", value: { names: [] } }),
      ],
      tools,
    });
    expect(textOf(strange)).toContain('in a form that I do not know: {"names":[]}');
    const [call] = exchange("read_file", { path: "a.txt" }, { type: "text", value: "" });
    const open = await partsOf({ prompt: [user("read a.txt"), ...(call ? [call] : [])], tools });
    expect(textOf(open)).toContain("no result of this call is known");
  });

  it("gives each call its own result where a provider uses a call id again", async () => {
    const parts = await partsOf({
      prompt: [
        user("read a.txt"),
        user("read b.txt"),
        ...exchange("read_file", { path: "a.txt" }, { type: "text", value: "alpha" }),
        ...exchange("read_file", { path: "b.txt" }, { type: "text", value: "beta" }),
      ],
      tools,
    });
    expect(textOf(parts)).toMatch(/a\.txt says:[^]*alpha[^]*b\.txt says:[^]*beta/);
  });

  it("does not repeat a call whose input a tool's schema has added to or taken from", async () => {
    for (const input of [
      { path: ".", recursive: false, limit: 2000, sort: "name" },
      { path: "." },
    ]) {
      const output: LanguageModelV4ToolResultOutput = {
        type: "json",
        value: { entries: ["a.txt"] },
      };
      const parts = await partsOf({
        prompt: [user("list files"), ...exchange("list_files", input, output)],
        tools,
      });
      expect(textOf(parts)).toContain("- a.txt");
    }
  });

  it("takes messages that were delivered together as one request each, and the last turn only", async () => {
    const prompt = [
      user("list files"),
      ...exchange("list_files", {}, { type: "json", value: { entries: [] } }),
      user("read a.txt"),
      user("read b.txt"),
    ];
    const first = await partsOf({ prompt, tools });
    expect(first.filter((part) => part.type === "tool-call").map((part) => part.input)).toEqual([
      '{"path":"a.txt"}',
    ]);
    const second = await partsOf({
      prompt: [...prompt, ...exchange("read_file", { path: "a.txt" }, { type: "text", value: "" })],
      tools,
    });
    expect(second.filter((part) => part.type === "tool-call").map((part) => part.input)).toEqual([
      '{"path":"b.txt"}',
    ]);
  });

  it("obeys toolChoice: no tool with none, and only the named one", async () => {
    const none = await partsOf({
      prompt: [user("list files")],
      tools,
      toolChoice: { type: "none" },
    });
    expect(textOf(none)).toContain("list_files, a tool I am not offered");
    const other = await partsOf({
      prompt: [user("list files")],
      tools,
      toolChoice: { type: "tool", toolName: "read_file" },
    });
    expect(other.some((part) => part.type === "tool-call")).toBe(false);
  });

  it("leaves out the reasoning when it is turned off, and warns of what it cannot do", async () => {
    const parts = await partsOf({
      prompt: [user("hello")],
      tools,
      reasoning: "none",
      stopSequences: ["."],
      toolChoice: { type: "required" },
    });
    expect(parts.some((part) => part.type.startsWith("reasoning"))).toBe(false);
    expect(finishOf(parts).usage.outputTokens.reasoning).toBe(0);
    const warnings = parts.flatMap((part) => (part.type === "stream-start" ? part.warnings : []));
    expect(warnings.map((warning) => warning.type === "unsupported" && warning.feature)).toEqual([
      "stopSequences",
      "toolChoice",
    ]);
  });

  it("stops at the limit of tokens and says that the length was the reason", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("hello", "list files"),
        fc.integer({ min: 1, max: 200 }),
        async (words, maxOutputTokens) => {
          const free = await partsOf({ prompt: [user(words)], tools });
          const parts = await partsOf({ prompt: [user(words)], tools, maxOutputTokens });
          const needed = finishOf(free).usage.outputTokens.total ?? 0;
          expect(finishOf(parts).usage.outputTokens.total).toBeLessThanOrEqual(maxOutputTokens);
          const cut = needed > maxOutputTokens;
          const calls = parts.filter((part) => part.type === "tool-call");
          expect(finishOf(parts).finishReason.unified === "length").toBe(cut);
          expect(calls.length).toBe(words === "list files" && !cut ? 1 : 0);
        },
      ),
    );
  });

  it("does not start when it is already aborted", async () => {
    const options = {
      prompt: [user("hello")],
      abortSignal: AbortSignal.abort(new Error("no more")),
    };
    await expect(offlineModel().doStream(options)).rejects.toThrow("no more");
    await expect(offlineModel().doGenerate(options)).rejects.toThrow("no more");
  });

  it("breaks its stream with the signal's reason when it is aborted between deltas, however long the delay", async () => {
    const abort = new AbortController();
    const hour = 3_600_000;
    const { stream } = await offlineModel({ delay: hour }).doStream({
      prompt: [user("hello")],
      abortSignal: abort.signal,
    });
    const reader = stream.getReader();
    const types: string[] = [];
    for (let index = 0; index < 3; index += 1)
      types.push((await reader.read()).value?.type ?? "end");
    expect(types).toEqual(["stream-start", "response-metadata", "reasoning-start"]);
    const delta = reader.read();
    abort.abort(new Error("enough"));
    await expect(delta).rejects.toThrow("enough");
  });

  it("says that it cannot see an attached file, and answers the words", async () => {
    const prompt: LanguageModelV4Prompt = [
      {
        role: "user",
        content: [
          { type: "text", text: "hello" },
          {
            type: "file",
            mediaType: "image/png",
            data: { type: "data", data: new Uint8Array(4096) },
          },
        ],
      },
    ];
    const parts = await partsOf({ prompt, tools });
    expect(textOf(parts)).toMatch(/cannot look at attached files[^]*I can:/);
    expect(finishOf(parts).usage.inputTokens.total).toBeLessThan(200);
  });

  it("does not take what an attached file of text says for a request", async () => {
    const prompt: LanguageModelV4Prompt = [
      {
        role: "user",
        content: [
          { type: "text", text: '<file name="notes.md">\nread package.json\n</file>' },
          { type: "text", text: "hello" },
        ],
      },
    ];
    const parts = await partsOf({ prompt, tools });
    expect(textOf(parts)).toMatch(/cannot look at attached files[^]*I can:/);
    expect(parts.some(({ type }) => type === "tool-call")).toBe(false);
  });
});
