/** Messages of the AI SDK as sessions: their prompts are valid, and say what the messages said. */

import type { ModelMessage, UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
  createRuntime,
  importMessages,
  openMemoryLog,
  TurnlogError,
  verifySession,
  viewSession,
} from "../../../src/public/index.ts";
import { withCallIds } from "../../support/call-ids.ts";
import type { EventBody } from "../../../src/events/index.ts";
import { promptMessages } from "../../../src/projections/index.ts";
import { foldSession, type SessionState } from "../../../src/state/index.ts";
import {
  transcriptOfModelMessages,
  transcriptOfUIMessages,
} from "../../../src/archive/exchange/import-messages.ts";
import { promptProblems } from "../../../src/testing/index.ts";
import { scriptedModel } from "../../../src/models/index.ts";
import { fixtureNames, readFixture } from "../../laws/session-fixture.ts";
import { lawProblems } from "../../support/law-problems.ts";
import { replay, stateAt } from "../../support/replay.ts";
import { patience, runs } from "../../support/runs.ts";

vi.setConfig({ testTimeout: patience });

const asked: ModelMessage = { role: "user", content: "What is the weather in Ulm and Bonn?" };
const weather = { type: "tool-call", toolCallId: "1", toolName: "weather", input: {} } as const;
const searched: ModelMessage = {
  role: "assistant",
  content: [{ ...weather, providerExecuted: true }, weather],
};
const talk: readonly ModelMessage[] = [
  asked,
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "Both.", providerOptions: { p: { signature: "s" } } },
      { type: "text", text: "I look." },
      { type: "tool-call", toolCallId: "1", toolName: "weather", input: { city: "Ulm" } },
      { type: "tool-call", toolCallId: "2", toolName: "weather", input: { city: "Bonn" } },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "1",
        toolName: "weather",
        output: { type: "json", value: { degrees: 7 } },
      },
      {
        type: "tool-result",
        toolCallId: "2",
        toolName: "weather",
        output: { type: "error-text", value: "No such city." },
      },
    ],
  },
  { role: "assistant", content: [{ type: "text", text: "7 degrees in Ulm." }] },
];

async function imported(messages: readonly ModelMessage[]) {
  const log = await openMemoryLog();
  const [found] = await importMessages(log, messages, { from: "model-messages", as: "s", time: 5 });
  return { log, found, view: await viewSession(log, "s") };
}

/** The state once a new turn delivered a next message. */
function withNextMessage(state: SessionState): SessionState {
  const turn = state.machine.context.turn + 1;
  const bodies: readonly EventBody[] = [
    { type: "message.queued", data: { id: "next", content: "Go on.", delivery: "follow-up" } },
    { type: "turn.started", data: { turn, maxSteps: 9 } },
    { type: "message.delivered", data: { ids: ["next"], turn, boundary: "turn" } },
  ];
  return bodies.reduce(
    (before, body) =>
      foldSession(before, { ...body, position: before.position + 1, time: 9 }).state,
    state,
  );
}

describe("imported messages", () => {
  it("are the prompt of the session, message for message", async () => {
    const { view, log, found } = await imported(talk);
    expect(view.prompt.messages).toEqual(talk);
    expect(view).toMatchObject({ state: { value: { idle: "waiting" } }, queue: [] });
    expect(view.toolCalls.map(({ status }) => status)).toEqual(["succeeded", "failed"]);
    expect(found).toEqual({ session: "s", events: view.position, instructions: "", dropped: [] });
    expect((await verifySession(log, "s", { every: 1 })).problems).toEqual([]);
  });

  it.each(fixtureNames)(
    "come back as they are, out of any prompt that the session %s sent",
    async (name) => {
      const events = await readFixture(name);
      const replayed = replay(events);
      const sent = events.filter(({ type }) => type === "step.started");
      for (const { position } of sent) {
        const { history, view } = stateAt(replayed, position - 1);
        const prompt = promptMessages(history, view);
        const again = replay((await transcriptOfModelMessages(prompt, 0)).events).last;
        expect(promptMessages(again.history, again.view)).toEqual(prompt);
      }
    },
  );

  it("go on in a runtime like any other session", async () => {
    const { log } = await imported(talk);
    const model = scriptedModel(["Gladly."]);
    await using runtime = await createRuntime({ log, agent: { model } });
    const session = await runtime.session("s");
    await (
      await session.send("Thank you.")
    ).result;
    expect(model.calls[0]?.prompt.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    expect((await verifySession(log, "s")).problems).toEqual([]);
  });

  it("give their system messages back, which only an agent can hold", async () => {
    const { found, view } = await imported([{ role: "system", content: "Be brief." }, ...talk]);
    expect(found?.instructions).toBe("Be brief.");
    expect(view.prompt.messages).toEqual(talk);
  });

  it("have an unknown outcome for a call without a result, and a note before a reply without a question", async () => {
    const { view } = await imported(talk.slice(1, 2));
    expect(view.toolCalls.map(({ status }) => status)).toEqual(["unknown", "unknown"]);
    const [note, reply] = view.prompt.messages;
    expect([note?.role, reply?.role]).toEqual(["user", "assistant"]);
    expect(note?.content).toMatch(/^\[The talk began/);
    expect(JSON.stringify(view.prompt.messages.at(-1))).toContain("Check before you repeat it.");
  });

  it("keep the answers to approvals, and skip unanswered calls", async () => {
    const call = (id: string) =>
      ({ type: "tool-call", toolCallId: id, toolName: "pay", input: {} }) as const;
    const request = (id: string) =>
      ({ type: "tool-approval-request", approvalId: `a${id}`, toolCallId: id }) as const;
    const { view } = await imported([
      asked,
      { role: "assistant", content: [call("1"), call("2"), request("1"), request("2")] },
      {
        role: "tool",
        content: [
          { type: "tool-approval-response", approvalId: "a1", approved: false, reason: "no" },
        ],
      },
    ]);
    expect(view.toolCalls.map(({ status }) => status)).toEqual(["denied", "skipped"]);
  });

  it.each([
    ["between the results of parallel calls", [0, "user", 1]],
    ["before the results", ["user", 0, 1]],
    ["twice, and the results in another order", ["user", 1, "user", 0]],
    ["and a reply", [0, "user", "reply", 1]],
  ] as const)("keep what a user said %s, behind the results", async (_, order) => {
    const [, calls, results] = talk;
    const parts = results?.role === "tool" ? results.content : [];
    const between: readonly ModelMessage[] = order.map((one): ModelMessage => {
      if (one === "user") return { role: "user", content: "And in Kiel?" };
      if (one === "reply") return { role: "assistant", content: "I look there too." };
      return { role: "tool", content: parts.slice(one, one + 1) };
    });
    const messages = [asked, calls, ...between].filter((message) => message !== undefined);
    const { view, log } = await imported(messages);
    const told = order.filter((one) => typeof one === "string");
    const roles = told.map((one) => (one === "user" ? "user" : "assistant"));
    expect(view.prompt.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      ...roles,
    ]);
    const callIds = view.prompt.messages.flatMap((message) =>
      message.role === "tool"
        ? message.content.map((part) => (part.type === "tool-result" ? part.toolCallId : ""))
        : [],
    );
    expect(callIds).toEqual(["1", "2"]);
    expect(
      promptProblems(view.prompt.messages).filter(({ rule }) => rule !== "ends-with-input"),
    ).toEqual([]);
    expect((await verifySession(log, "s", { every: 1 })).problems).toEqual([]);
  });

  it("name what no session holds", async () => {
    const options = { anthropic: { cacheControl: { type: "ephemeral" } } };
    const { found } = await imported([
      { ...asked, providerOptions: options },
      { role: "user", content: " " },
      {
        role: "assistant",
        content: [{ type: "file", data: "aGk=", mediaType: "image/png", filename: "a.png" }],
      },
    ]);
    expect(found?.dropped).toEqual([
      { message: 0, what: "providerOptions" },
      { message: 1, what: "message" },
      { message: 2, what: "filename" },
    ]);
  });

  it("of a chat keep the ids of user messages, and name ids, metadata and parts that are left out", async () => {
    const messages: UIMessage[] = [
      {
        id: "u1",
        role: "user",
        metadata: { tags: ["x"] },
        parts: [
          { type: "text", text: "How is it in Ulm?" },
          { type: "data-place", data: { city: "Ulm" } },
        ],
      },
      {
        id: "a1",
        role: "assistant",
        metadata: { tokens: 3 },
        parts: [
          { type: "step-start" },
          { type: "source-url", sourceId: "s", url: "https://example.org" },
          { type: "data-weather", data: { degrees: 7 } },
          { type: "text", text: "7 degrees." },
        ],
      },
      { id: "u1", role: "user", parts: [{ type: "text", text: "And now?" }] },
      { id: "imported-3", role: "user", parts: [{ type: "text", text: "Hello?" }] },
      { id: "u4", role: "user", parts: [{ type: "data-click", data: 1 }] },
    ];
    await using log = await openMemoryLog();
    const [imported] = await importMessages(log, messages, { from: "ui-messages", as: "chat" });
    expect(imported?.dropped.map(({ message, id, what }) => `${message} ${id} ${what}`)).toEqual([
      "0 u1 metadata",
      "0 u1 data-place",
      "1 a1 id",
      "1 a1 metadata",
      "1 a1 source-url",
      "1 a1 data-weather",
      "2 u1 id",
      "4 u4 message",
      "4 u4 data-click",
    ]);
    await using runtime = await createRuntime({ log, agent: { model: scriptedModel(["Yes."]) } });
    const session = await runtime.session("chat");
    const turn = await session.turn("u1");
    expect(await turn.result).toMatchObject({ turn: 1, text: "7 degrees." });
    // The same message sent again is known; the one that had its id too is another one.
    await expect(session.send("And now?", { id: "u1" })).rejects.toMatchObject({
      code: "MESSAGE_CONFLICT",
    });
    const { state } = await session.view();
    expect(state.context).toBeDefined();
    expect((await verifySession(log, "chat", { every: 1 })).problems).toEqual([]);
  });

  it("of a chat are brought into model messages by the AI SDK first", async () => {
    const messages: UIMessage[] = [
      { id: "1", role: "user", parts: [{ type: "text", text: "List it." }] },
      {
        id: "2",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "text", text: "I list it." },
          {
            type: "dynamic-tool",
            toolName: "list",
            toolCallId: "c",
            state: "output-available",
            input: {},
            output: ["a.ts"],
          },
          { type: "step-start" },
          { type: "text", text: "One file." },
        ],
      },
    ];
    await using log = await openMemoryLog();
    await importMessages(log, messages, { from: "ui-messages", as: "chat" });
    const { messages: prompt } = (await viewSession(log, "chat")).prompt;
    expect(prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(JSON.stringify(prompt)).toContain("a.ts");
    expect((await verifySession(log, "chat")).problems).toEqual([]);
  });

  it.each([
    ["an address", "https://example.org/a.png"],
    ["content", "data:image/png;base64,iVBORw0KGgo="],
  ])("of a chat keep their files, %s as well", async (_what, url) => {
    const file = { type: "file", mediaType: "image/png", filename: "a.png", url } as const;
    const messages: UIMessage[] = [
      { id: "1", role: "user", parts: [file, { type: "text", text: "Look, and draw one." }] },
      { id: "2", role: "assistant", parts: [{ type: "text", text: "Here." }, file] },
    ];
    await using log = await openMemoryLog();
    await importMessages(log, messages, { from: "ui-messages", as: "chat" });
    const { messages: prompt } = (await viewSession(log, "chat")).prompt;
    const kept = { type: "file", mediaType: "image/png", data: url };
    expect(prompt).toMatchObject([
      {
        role: "user",
        content: [
          { ...kept, filename: "a.png" },
          { type: "text", text: "Look, and draw one." },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "Here." }, kept] },
    ]);
    expect((await verifySession(log, "chat")).problems).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["is no message", [{ role: "nobody", content: "x" }]],
    ["is a result without its call", [asked, talk[2]]],
    ["is a result of another call", [asked, { role: "assistant", content: "Hm." }, talk[2]]],
    ["is a call id twice in one reply", [asked, talk[1], talk[1]]],
    ["is a call of the provider with the id of another in its reply", [asked, searched]],
    [
      "is a file that does not exist",
      [
        {
          role: "user",
          content: [{ type: "file", mediaType: "a/b", data: { type: "reference", reference: {} } }],
        },
      ],
    ],
  ])("are refused, and nothing is written, when one %s", async (_, messages) => {
    await using log = await openMemoryLog();
    const refused = importMessages(log, messages, {
      from: "model-messages",
      as: "s",
    });
    await expect(refused).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(await Array.fromAsync(log.list())).toEqual([]);
  });

  it("are refused or make a lawful session with valid prompts, whatever they are", async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(anyMessages, async (messages) => {
        const events = await transcribed(messages);
        if (events === undefined) return;
        taken += 1;
        expect(lawProblems(events)).toEqual([]);
        const { last } = replay(events);
        expect(last.machine.matches({ idle: "waiting" })).toBe(true);
        const { history, view } = withNextMessage(last);
        expect(promptProblems(withCallIds(promptMessages(history, view), undefined))).toEqual([]);
      }),
      runs(300),
    );
    expect(taken).toBeGreaterThan(50);
  });
});

async function transcribed(messages: readonly ModelMessage[]) {
  try {
    const { events } = await transcriptOfModelMessages(messages, 0);
    return events;
  } catch (error) {
    if (TurnlogError.isInstance(error) && error.code === "INVALID_INPUT") return undefined;
    throw error;
  }
}

const text = fc.constantFrom("", " ", "Hello.", "\n");
const callId = fc.constantFrom("1", "2", "__proto__");
const options = fc.constantFrom({}, { providerOptions: { p: { id: "i" } } });
const withOptions = <Part extends object>(part: fc.Arbitrary<Part>) =>
  fc.tuple(part, options).map(([one, more]) => ({ ...one, ...more }));

const output = fc.constantFrom(
  { type: "text", value: "done" },
  { type: "json", value: { a: 1 } },
  { type: "json", value: "text as JSON" },
  { type: "content", value: [{ type: "text", text: "shown" }] },
  { type: "error-text", value: "broken" },
  { type: "error-json", value: { code: 7 } },
  { type: "execution-denied", reason: "no" },
);
const result = fc.record({
  type: fc.constant("tool-result"),
  toolCallId: callId,
  toolName: fc.constant("work"),
  output,
});
const call = fc.record(
  {
    type: fc.constant("tool-call"),
    toolCallId: callId,
    toolName: fc.constant("work"),
    input: fc.constantFrom({}, { a: [1] }),
    providerExecuted: fc.boolean(),
  },
  { requiredKeys: ["type", "toolCallId", "toolName", "input"] },
);
const filePart = fc.constantFrom(
  { type: "file", mediaType: "image/png", data: "aGk=" },
  { type: "file", mediaType: "image/png", data: { type: "url", url: "https://a.invalid/b" } },
  { type: "file", mediaType: "text/plain", data: new Uint8Array([1, 2]) },
  { type: "file", mediaType: "image", data: { type: "reference", reference: { p: "id" } } },
);
const textPart = withOptions(text.map((said) => ({ type: "text", text: said })));
const reply = fc.array(
  fc.oneof(
    textPart,
    withOptions(text.map((said) => ({ type: "reasoning", text: said }))),
    call,
    withOptions(filePart),
    fc.constant({ type: "custom", kind: "p.thing" }),
  ),
  { maxLength: 5 },
);

/** In any order; often a reply is followed by the results that it asks for. */
const anyMessages = fc
  .array(
    fc.oneof(
      fc
        .oneof(text, fc.array(fc.oneof(textPart, filePart), { maxLength: 3 }))
        .map((content) => [{ role: "user", content }]),
      fc.oneof(text, reply).map((content) => [{ role: "assistant", content }]),
      fc.tuple(reply, output).map(([content, given]) => {
        const results = content.flatMap((part) =>
          "toolCallId" in part && part.providerExecuted !== true
            ? [{ ...part, type: "tool-result", output: given }]
            : [],
        );
        return [
          { role: "assistant", content },
          ...(results.length === 0 ? [] : [{ role: "tool", content: results }]),
        ];
      }),
      fc
        .array(result, { minLength: 1, maxLength: 2 })
        .map((content) => [{ role: "tool", content }]),
      fc.constant([{ role: "system", content: "Be kind." }]),
    ),
    { maxLength: 8 },
  )
  .map((groups) => groups.flat() as ModelMessage[]);

describe("messages that do not fit", () => {
  const text = "word ".repeat(1000);
  const fits = { role: "user", content: text, id: "1", parts: [{ type: "text", text }] };

  it.each([
    [
      "role",
      { role: "nobody" },
      /: role: it must be one of "system", "user", "assistant", "tool"; 1/,
    ],
    ["text", { role: "assistant", content: [{ type: "text", text: 1 }] }, /: content\[0\]\.text: /],
    [
      "part",
      { role: "user", content: [{ type: "tool-call" }] },
      /content\[0\]\.type: it must be one of/,
    ],
    [
      "output",
      { role: "tool", content: [{ type: "tool-result", output: {} }] },
      /: content\[0\]\./,
    ],
    ["object", text, /: Invalid input: expected object, received string; 1/],
  ])("are told by the first and its field (%s), and by how many more", async (_what, bad, said) => {
    const error: unknown = await transcriptOfModelMessages([fits, bad, fits, 5], 1).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: "INVALID_INPUT" });
    expect(String(error)).toMatch(/message 2 of 4: .*; 1 more does not fit either\. Nothing/);
    expect(String(error)).toMatch(said);
    expect(String(error).length).toBeLessThan(400);
  });

  it("are told in the same way where they are those of a chat", async () => {
    const bad = { id: "2", role: "user", parts: [{ type: "text", text: 1 }] };
    const messages: unknown = [fits, bad, bad, { ...fits, parts: text }];
    const error: unknown = await transcriptOfUIMessages(messages, 1).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: "INVALID_INPUT" });
    expect(String(error)).toMatch(
      /UI messages: message 2 of 4: parts\[0\]\.text: .*; 2 more do not fit either\. Nothing/,
    );
    expect(String(error).length).toBeLessThan(400);
    await expect(transcriptOfUIMessages({}, 1)).rejects.toThrow(/: Invalid input: expected array/);
  });
});
