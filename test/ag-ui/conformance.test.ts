/** What of AG-UI 1.0 works, what is refused and what is not offered: each row of the tables is a test. */

import { EventType } from "@ag-ui/client";
import { tool } from "ai";
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { askPerson, createRuntime, defineEvents, type Runtime } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { eventually } from "../support/eventually.ts";
import { call, calling, saying } from "../support/script.ts";
import { pageOf, posted, user, type Page, type Served } from "./pages.ts";
import type { ServerOptions } from "../../src/server/index.ts";

const none = z.object({});
const form = {
  kind: "form",
  from: "Bookings",
  message: "How many seats?",
  schema: { type: "object", properties: { seats: { type: "integer" } }, required: ["seats"] },
} as const;
const visit = {
  kind: "address",
  from: "Bank",
  message: "Sign.",
  url: "https://a.invalid/",
} as const;
const tools = {
  pay: tool({ inputSchema: none, execute: () => "paid" }),
  look: tool({ inputSchema: none, outputSchema: z.json() }),
  book: tool({
    inputSchema: none,
    execute: (_, options) => `seats: ${JSON.stringify(askPerson(options, form).content)}`,
  }),
  sign: tool({
    inputSchema: none,
    execute: (_, options) => `signed ${JSON.stringify(askPerson(options, visit).content)}`,
  }),
  count: tool({
    inputSchema: none,
    async *execute() {
      yield "one";
      yield "two";
    },
  }),
};
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const events = defineEvents({ "app.noted": z.object({ note: z.string() }) });

interface Opened extends Served, AsyncDisposable {
  readonly runtime: Runtime;
  readonly page: Page;
}

async function opened(
  steps: readonly ScriptedStep[],
  options: ServerOptions = {},
): Promise<Opened> {
  const model = scriptedModel(steps);
  const agent = { model, tools, toolApproval: { pay: "user-approval" }, maxRetries: 0 } as const;
  const runtime = await createRuntime({ memory: true, agent, events });
  const { fetch, token } = createServer(runtime, { token: "secret", ...options });
  const served = { fetch, token };
  return { ...served, runtime, page: pageOf(served), [Symbol.asyncDispose]: () => runtime.close() };
}

describe("an event of the type", () => {
  const works: Readonly<Record<EventType, boolean>> = {
    [EventType.RUN_STARTED]: true,
    [EventType.RUN_FINISHED]: true,
    [EventType.RUN_ERROR]: true,
    [EventType.STEP_STARTED]: true,
    [EventType.STEP_FINISHED]: true,
    [EventType.TEXT_MESSAGE_START]: true,
    [EventType.TEXT_MESSAGE_CONTENT]: true,
    [EventType.TEXT_MESSAGE_END]: true,
    [EventType.TEXT_MESSAGE_CHUNK]: false,
    [EventType.REASONING_START]: true,
    [EventType.REASONING_MESSAGE_START]: true,
    [EventType.REASONING_MESSAGE_CONTENT]: true,
    [EventType.REASONING_MESSAGE_END]: true,
    [EventType.REASONING_MESSAGE_CHUNK]: false,
    [EventType.REASONING_END]: true,
    [EventType.REASONING_ENCRYPTED_VALUE]: false,
    [EventType.TOOL_CALL_START]: true,
    [EventType.TOOL_CALL_ARGS]: true,
    [EventType.TOOL_CALL_END]: true,
    [EventType.TOOL_CALL_CHUNK]: false,
    [EventType.TOOL_CALL_RESULT]: true,
    [EventType.STATE_SNAPSHOT]: true,
    [EventType.STATE_DELTA]: true,
    [EventType.MESSAGES_SNAPSHOT]: true,
    [EventType.ACTIVITY_SNAPSHOT]: false,
    [EventType.ACTIVITY_DELTA]: false,
    [EventType.RAW]: false,
    [EventType.CUSTOM]: true,
    [EventType.SUBAGENT_STARTED]: false,
    [EventType.SUBAGENT_FINISHED]: false,
    [EventType.SUBAGENT_ERROR]: false,
  };
  const said = { type: "text", deltas: ["I pay."] } as const;
  const seen = (async () => {
    await using open = await opened([
      calling({ type: "reasoning", deltas: ["hm"] }, said, call("count", "c"), call("pay", "p")),
      { failure: new Error("down") },
    ]);
    await open.page.say("Pay.");
    await open.page.runAgent({ resume: answers(open.page, { approved: true }) });
    const names = open.page.seen.map((event) => ("name" in event ? String(event["name"]) : ""));
    return new Set<string>([...open.page.types, ...names]);
  })();

  it.each(Object.entries(works))("%s: comes: %s", async (type, comes) => {
    expect((await seen).has(type)).toBe(comes);
  });

  it("CUSTOM says what a running call says", async () => {
    expect([...(await seen)]).toContain("tool-progress");
  });

  it("is named in docs/ag-ui.md", async () => {
    const text = await readFile(new URL("../../docs/ag-ui.md", import.meta.url), "utf8");
    const patterns = [...text.matchAll(/`([A-Z_*]{3,})`/g)].map(
      ([, name = ""]) => new RegExp(`^${name.replaceAll("*", ".*")}$`),
    );
    const unnamed = Object.keys(works).filter((type) => !patterns.some((one) => one.test(type)));
    expect(unnamed).toEqual([]);
  });
});

/** The same answer to all interrupts. */
const answers = (
  { pendingInterrupts }: Page,
  payload?: unknown,
  status: "resolved" | "cancelled" = "resolved",
) => pendingInterrupts.map(({ id: interruptId }) => ({ interruptId, status, payload }));

const pay = [calling(call("pay", "c")), "Done."];
const look = [calling(call("look", "c")), "Done."];
const pending = ({ seen }: Page): string => {
  const { outcome } = z
    .object({ outcome: z.object({ pendingToolCallIds: z.tuple([z.string()]) }) })
    .parse(seen.at(-1));
  return outcome.pendingToolCallIds[0];
};
const result = (page: Page): unknown => page.messages.find(({ role }) => role === "tool");

/** What a client does, the steps of the model, and what comes of it: checks, or the code of a refusal. */
const methods: readonly (readonly [
  name: string,
  steps: readonly ScriptedStep[],
  act: (open: Opened) => Promise<unknown>,
  refused?: string,
])[] = [
  [
    "a new message",
    ["Hello."],
    async ({ page }) => {
      await page.say("Hi");
      expect(page.said).toEqual(["Hi", "Hello."]);
      expect(page.state).toMatchObject({ title: "Hi", status: "idle", turn: 1, lastEnd: "stop" });
    },
  ],
  [
    "a message with files",
    ["Nice."],
    async ({ page, runtime }) => {
      const source = { type: "data", value: png, mimeType: "image/png" } as const;
      const content = [
        { type: "text", text: "Look:" } as const,
        { type: "image", source } as const,
      ];
      page.addMessage({ id: "m", role: "user", content });
      await page.runAgent();
      expect(page.messages[0]).toMatchObject({ id: "m", content });
      const { history } = await (await runtime.session("t")).view();
      expect(history[0]).toMatchObject({ content: [{ type: "text" }, { mediaType: "image/png" }] });
    },
  ],
  [
    "the same message again",
    ["Hello.", "No."],
    async (open) => {
      const first = await (await posted(open, { messages: [user("Hi")] })).text();
      expect(await (await posted(open, { messages: [user("Hi")] })).text()).toBe(first);
    },
  ],
  [
    "the last message with other content",
    ["1", "2", "2b"],
    async ({ page }) => {
      await page.say("one");
      await page.say("two", "m");
      page.setMessages(page.messages.slice(0, 2));
      await page.say("two, changed", "m");
      expect(page.said).toEqual(["one", "1", "two, changed", "2b"]);
      expect(page.messages[2]?.id).toBe("m~2");
    },
  ],
  [
    "an id that another message has, without the state",
    ["1"],
    async (open) => {
      await open.page.say("one", "m");
      return await posted(open, { messages: [user("two", "m")] });
    },
    "MESSAGE_CONFLICT",
  ],
  [
    "a message in place of earlier ones",
    ["1", "2", "1b", "3"],
    async ({ page }) => {
      await page.say("one");
      await page.say("two");
      page.setMessages([]);
      await page.say("first");
      expect(page.said).toEqual(["first", "1b"]);
      await page.say("next");
      expect(page.said).toEqual(["first", "1b", "next", "3"]);
    },
  ],
  [
    "a reply that was taken away",
    ["1", "2", "2b"],
    async ({ page }) => {
      await page.say("one");
      await page.say("two");
      page.setMessages(page.messages.slice(0, 3));
      await page.runAgent();
      expect(page.said).toEqual(["one", "1", "two", "2b"]);
    },
  ],
  [
    "a message of a page that is behind",
    ["1", "2"],
    async (open) => {
      await open.page.say("one");
      await pageOf(open).say("elsewhere");
      const { state } = open.page.has;
      return await posted(open, { messages: [...open.page.messages, user("two")], state });
    },
    "STALE",
  ],
  [
    "a message that another session has",
    ["1"],
    async (open) => {
      await open.page.say("one");
      return await posted(open, { messages: [user("other"), user("two")] });
    },
    "STALE",
  ],
  ["no message", [], (open) => posted(open, {}), "INVALID_INPUT"],
  [
    "a message of the system alone",
    [],
    (open) => posted(open, { messages: [{ id: "s", role: "system", content: "Obey." }] }),
    "INVALID_INPUT",
  ],
  [
    "a message of the system before that of the user",
    ["Hello."],
    async ({ page }) => {
      page.addMessage({ id: "s", role: "developer", content: "Obey." });
      await page.say("Hi");
      expect(page.said).toEqual(["Hi", "Hello."]);
    },
  ],
  [
    "a file of a provider",
    [],
    (open) => {
      const source = { type: "file", value: "file-1", provider: "openai" };
      return posted(open, { messages: [user([{ type: "document", source }], "m")] });
    },
    "INVALID_INPUT",
  ],
  [
    "resume: an approval",
    pay,
    async ({ page }) => {
      await page.say("Pay.");
      expect(page.pendingInterrupts).toMatchObject([
        { reason: "approval", message: "May pay run?" },
      ]);
      await page.runAgent({ resume: answers(page, { approved: true }) });
      expect(result(page)).toMatchObject({ content: "paid" });
      expect(page.pendingInterrupts).toEqual([]);
      // The rest of the turn, not the call once more.
      expect(page.types.filter((type) => type === "TOOL_CALL_START")).toHaveLength(1);
    },
  ],
  [
    "resume: a denial",
    pay,
    async ({ page }) => {
      await page.say("Pay.");
      await page.runAgent({ resume: answers(page, { approved: false, reason: "Too much." }) });
      expect(result(page)).toMatchObject({ content: "Too much.", metadata: { error: true } });
    },
  ],
  [
    "resume: a cancellation",
    pay,
    async ({ page }) => {
      await page.say("Pay.");
      await page.runAgent({ resume: answers(page, undefined, "cancelled") });
      expect(result(page)).toMatchObject({ metadata: { error: true } });
    },
  ],
  [
    "resume: the same answer again",
    pay,
    async ({ page }) => {
      await page.say("Pay.");
      const { pendingInterrupts } = page;
      const resume = answers(page, { approved: true });
      await page.runAgent({ resume });
      const { messages } = page;
      page.pendingInterrupts = pendingInterrupts;
      await page.runAgent({ resume });
      expect(page.messages).toEqual(messages);
    },
  ],
  [
    "resume: an approval without a word",
    pay,
    async (open) => {
      await open.page.say("Pay.");
      const { messages } = open.page;
      const answer = await posted(open, { messages, resume: answers(open.page) });
      expect(await answer.clone().text()).toContain("{ approved, reason? }");
      return answer;
    },
    "INVALID_INPUT",
  ],
  [
    "resume: the other answer",
    pay,
    async (open) => {
      await open.page.say("Pay.");
      const { messages } = open.page;
      const no = answers(open.page, { approved: false });
      await open.page.runAgent({ resume: answers(open.page, { approved: true }) });
      return await posted(open, { messages, resume: no });
    },
    "APPROVAL_ANSWERED",
  ],
  [
    "resume: a form",
    [calling(call("book", "c")), "Done."],
    async ({ page }) => {
      await page.say("Book.");
      const { message, schema: responseSchema } = form;
      expect(page.pendingInterrupts).toMatchObject([{ reason: "form", message, responseSchema }]);
      await page.runAgent({ resume: answers(page, { seats: 2 }) });
      expect(result(page)).toMatchObject({ content: 'seats: {"seats":2}' });
    },
  ],
  [
    "resume: a form with other values",
    [calling(call("book", "c"))],
    async (open) => {
      await open.page.say("Book.");
      const resume = answers(open.page, { seats: "many" });
      return await posted(open, { messages: open.page.messages, resume });
    },
    "INVALID_INPUT",
  ],
  [
    "resume: an address",
    [calling(call("sign", "c")), "Done."],
    async ({ page }) => {
      await page.say("Sign.");
      expect(page.pendingInterrupts).toMatchObject([
        { reason: "address", metadata: { url: visit.url } },
      ]);
      await page.runAgent({ resume: answers(page) });
      expect(result(page)).toMatchObject({ content: "signed {}" });
    },
  ],
  [
    "resume: a call that the client runs",
    look,
    async ({ page }) => {
      await page.say("Look.");
      expect(page.pendingInterrupts).toEqual([]);
      const resume = [
        { interruptId: pending(page), status: "resolved", payload: { at: 7 } },
      ] as const;
      await page.runAgent({ resume: [...resume] });
      expect(result(page)).toMatchObject({ content: '{"at":7}' });
    },
  ],
  [
    "a message of a client from before 1.0, which declares no version",
    look,
    async (open) => {
      const answer = await posted(open, { messages: [user("Look.")] });
      const events = (await answer.text()).trim().split("\n\n");
      expect(JSON.parse(events.at(-1)?.slice("data: ".length) ?? "")).toEqual({
        type: "RUN_FINISHED",
        threadId: "t",
        runId: "r",
      });
    },
  ],
  [
    "a message of the role tool",
    look,
    async ({ page }) => {
      await page.say("Look.");
      page.addMessage({ id: "x", role: "tool", toolCallId: pending(page), content: '{"at":7}' });
      await page.runAgent();
      expect(page.said).toEqual(["Look.", undefined, '{"at":7}', "Done."]);
    },
  ],
  [
    "a message of the role tool with an error",
    look,
    async ({ page }) => {
      await page.say("Look.");
      const toolCallId = pending(page);
      page.addMessage({ id: "x", role: "tool", toolCallId, content: "", error: "No camera." });
      await page.runAgent();
      expect(result(page)).toMatchObject({ content: "No camera.", metadata: { error: true } });
    },
  ],
  [
    "a message behind the output of a call",
    [...look, "Fine."],
    async ({ page }) => {
      await page.say("Look.");
      page.addMessage({ id: "x", role: "tool", toolCallId: pending(page), content: "dark" });
      await page.say("And?");
      await page.connectAgent();
      expect(page.said.slice(2)).toContain("dark");
      expect(page.said).toContain("And?");
    },
  ],
  [
    "resume: no question of the session",
    pay,
    async (open) => {
      await open.page.say("Pay.");
      const resume = [
        { interruptId: "other~1~1~c~1", status: "resolved", payload: { approved: true } },
      ];
      return await posted(open, { messages: open.page.messages, resume });
    },
    "INVALID_INPUT",
  ],
  [
    "tools that the client runs",
    look,
    async ({ page }) => {
      page.addMessage({ id: "m", role: "user", content: "Look." });
      await page.runAgent({ tools: [{ name: "look", description: "", parameters: {} }] });
      expect(pending(page)).toMatch(/c$/);
    },
  ],
  [
    "tools that the agent does not have",
    [],
    (open) => posted(open, { messages: [user("Hi")], tools: [{ name: "rm" }] }),
    "INVALID_INPUT",
  ],
  [
    "tools that the server runs",
    [],
    (open) => posted(open, { messages: [user("Hi")], tools: [{ name: "pay" }] }),
    "INVALID_INPUT",
  ],
  ...["forwardedProps", "context", "state"].map(
    (field) =>
      [
        `${field} that nothing reads`,
        [],
        (open: Opened) => {
          const said = { locale: "de" };
          return posted(open, {
            messages: [user("Hi")],
            [field]: field === "context" ? [said] : said,
          });
        },
        "INVALID_INPUT",
      ] as const,
  ),
  [
    "an unknown field",
    [],
    (open) => posted(open, { messages: [user("Hi")], model: "expensive" }),
    "INVALID_INPUT",
  ],
  [
    "connect",
    ["Hello."],
    async (open) => {
      await open.page.say("Hi");
      const other = pageOf(open);
      await other.connectAgent();
      expect(other.types).toEqual(open.page.types);
      expect(other.messages).toEqual(open.page.messages);
      expect(other.state).toEqual(open.page.state);
    },
  ],
  [
    "connect to a thread without a run",
    [],
    async ({ page, runtime }) => {
      await page.connectAgent();
      await runtime.session("t");
      await page.connectAgent();
      expect(page.types).toEqual([]);
    },
  ],
  [
    "connect with answers",
    pay,
    async (open) => {
      await open.page.say("Pay.");
      return await posted(open, { resume: answers(open.page) }, "/api/ag-ui/connect");
    },
    "INVALID_INPUT",
  ],
];

describe("a client sends", () => {
  const rows = methods.map(([name, steps, act, refused]) => ({ name, steps, act, refused }));
  it.each(rows)("$name: $refused", async ({ steps, act, refused }) => {
    await using open = await opened(steps);
    const answer = await act(open);
    if (refused === undefined) return;
    const { status, ok } = z.instanceof(Response).parse(answer);
    expect({ ok, status: status < 500 }).toEqual({ ok: false, status: true });
    expect(await z.instanceof(Response).parse(answer).json()).toMatchObject({ code: refused });
  });

  it("a message during a turn, whose run follows", async () => {
    const paused = gate();
    await using open = await opened([saying("One", paused, "."), "Two."]);
    const first = open.page.say("1");
    await paused.reached;
    const second = pageOf(open);
    const waits = second.say("2");
    const session = await open.runtime.session("t");
    await eventually(async () => {
      expect((await session.view()).queue).toHaveLength(1);
    });
    paused.open();
    await Promise.all([first, waits]);
    expect(second.said).toEqual(["1", "One.", "2", "Two."]);
    expect(second.types.filter((type) => type === "RUN_STARTED")).toHaveLength(1);
  });

  it("fields of its own, which the server's `request` reads", async () => {
    const read: unknown[] = [];
    const request = (fields: unknown): object => {
      read.push(fields);
      return {};
    };
    await using open = await opened(["Hello.", "Fine."], { request });
    const { page } = open;
    await page.say("Hi");
    page.setState({ ...page.state, cart: ["tea"] });
    page.addMessage({ id: "m", role: "user", content: "More." });
    const context = [{ description: "locale", value: "de" }];
    await page.runAgent({ forwardedProps: { theme: "dark" }, context });
    const own = { forwardedProps: { theme: "dark" }, context, state: { cart: ["tea"] } };
    expect(read).toEqual([{}, own]);
    expect(page.state).not.toHaveProperty("cart");
  });
});

describe("a client is told", () => {
  const ends = async (page: Page): Promise<unknown> => {
    await page.say("Hi");
    return page.seen.at(-1);
  };

  it("that its run failed, in the words that the audience may read", async () => {
    const failing = [{ failure: new Error("key sk-4711") }];
    await using operator = await opened(failing);
    expect(await ends(operator.page)).toMatchObject({
      type: "RUN_ERROR",
      message: "key sk-4711",
      code: "TURN_FAILED",
    });
    await using guest = await opened(failing, {
      token: false,
      authorize: () => ({ actor: "ann" }),
    });
    const masked = /"An error occurred. Reference: t@\d+."/;
    expect(JSON.stringify(await ends(guest.page))).toMatch(masked);
    expect(JSON.stringify(guest.page.seen)).not.toContain("sk-4711");
  });

  it("that its run was canceled", async () => {
    await using open = await opened(pay);
    await open.page.say("Pay.");
    await (await open.runtime.session("t")).cancel();
    const reloaded = pageOf(open);
    await reloaded.connectAgent();
    expect(reloaded.seen.at(-1)).toMatchObject({ outcome: { type: "cancelled" } });
  });

  it("nothing that is hidden from users, and no events of the program", async () => {
    const steps = [
      calling({ type: "reasoning", deltas: ["SECRET"] }, call("look", "c", { key: "SECRET" })),
      saying("Done."),
    ];
    const users = { hide: ["reasoning", "tool-data", "usage", "model"] } as const;
    await using open = await opened(steps, {
      token: false,
      authorize: () => ({ actor: "ann" }),
      users,
    });
    await open.page.say("Look.");
    const session = await open.runtime.session("t");
    await session.append("app.noted", { note: "SECRET" });
    const toolCallId = pending(open.page);
    open.page.addMessage({ id: "x", role: "tool", toolCallId, content: '"seen"' });
    await open.page.runAgent();
    expect(open.page.said.at(-1)).toBe("Done.");
    const reloaded = pageOf(open);
    await reloaded.connectAgent();
    expect(reloaded.has).toEqual(open.page.has);
    const seen = JSON.stringify([...open.page.seen, ...reloaded.seen]);
    expect(seen).not.toMatch(/SECRET|usage|scripted/);
  });

  it("the events of the program, if it is an operator", async () => {
    await using open = await opened(pay);
    await open.page.say("Pay.");
    await (await open.runtime.session("t")).append("app.noted", { note: "asked" });
    await open.page.runAgent({ resume: answers(open.page, { approved: true }) });
    await open.page.connectAgent();
    expect(open.page.seen).toContainEqual({
      type: "CUSTOM",
      name: "app.noted",
      value: { note: "asked" },
    });
  });
});
