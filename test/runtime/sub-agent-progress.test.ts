/** What a page sees of a sub-agent while its call runs, what it used, and what happens to it with its parent. */

import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import {
  agentTool,
  createRuntime,
  openMemoryLog,
  streamEvents,
  uiStream,
  type Agent,
  type EventEncoder,
  type Session,
  type SessionEvent,
} from "../../src/public/index.ts";
import { gate, replay, scriptedModel } from "../../src/public/testing.ts";
import { readUIMessages, uiMessages } from "../../src/public/ui.ts";
import { type SessionChunk, uiEncoder } from "../../src/ui/index.ts";
import { eventually } from "../support/eventually.ts";
import { call, calling, saying } from "../support/script.ts";
import { echo } from "./tools.ts";

type EventsOptions = NonNullable<Parameters<Session["events"]>[0]>;

function teamOf(...deltas: readonly (string | ReturnType<typeof gate>)[]): Agent {
  const helper = { model: scriptedModel([{ parts: [{ type: "text", deltas }] }]) };
  return {
    model: scriptedModel([calling(call("help", "c", { task: "Look." })), "Done."]),
    tools: { help: agentTool({ agent: helper, description: "Looks." }) },
  };
}

type Output = Extract<SessionChunk, { readonly type: "tool-output-available" }>;
const outputsOf = (chunks: readonly SessionChunk[]): readonly Output[] =>
  chunks.flatMap((chunk) => (chunk.type === "tool-output-available" ? [chunk] : []));

it("shows the message of the sub-agent as preliminary output, and records nothing of it", async () => {
  const log = await openMemoryLog();
  const paused = gate();
  await using runtime = await createRuntime({ log, agent: teamOf("Half", paused, " whole.") });
  const session = await runtime.session("p");
  await session.send("Go", { id: "m" });
  const reader = uiStream(session, { messageId: "m" }).getReader();
  const chunks: SessionChunk[] = [];
  const texts = (): readonly string[] =>
    outputsOf(chunks).map(({ output, preliminary }) =>
      preliminary === true ? JSON.stringify(output) : "the result",
    );
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    chunks.push(value);
    if (texts().at(-1)?.includes('"Half"') === true) paused.open();
  }
  const shown = texts();
  expect(shown.length).toBeGreaterThan(1);
  expect(shown.at(-1)).toBe("the result");
  expect(outputsOf(chunks).at(-1)).toMatchObject({ toolCallId: "c", output: "Half whole." });
  expect(outputsOf(chunks)[0]?.output).toMatchObject({ role: "assistant" });
  const events = await Array.fromAsync(log.read("p"));
  expect(events.some(({ type }) => type === "tool.progressed")).toBe(false);
  const { initial, fold } = uiMessages({ session: "p" });
  const { messages } = readUIMessages(events.reduce(fold, initial));
  expect(JSON.stringify(messages)).not.toContain('"Half"');
  // Read again after the end, only the result is there.
  const again = await Array.fromAsync(uiStream(session, { messageId: "m" }));
  expect(outputsOf(again)).toHaveLength(1);
});

it("comes behind the chunks that were there when the page came back, which counts them", async () => {
  const helper = { model: scriptedModel([saying("Half", gate())]) };
  const agent: Agent = {
    model: scriptedModel([
      calling(call("help", "c", { task: "Look." }), call("echo", "e", { value: 1 })),
    ]),
    tools: { help: agentTool({ agent: helper, description: "Looks." }), echo },
  };
  await using runtime = await createRuntime({ memory: true, graceMs: 1, agent });
  const session = await runtime.session("p");
  await session.send("Go", { id: "m" });
  await eventually(async () => {
    const types = await Array.fromAsync(runtime.log.read("p"), ({ type }) => type);
    expect(types).toContain("tool.succeeded");
  });
  const { position: last } = await session.view();
  /** The sub-agent has said "Half", and its message was shown. */
  const shown = Promise.withResolvers<void>();
  /** The log answers with the last of the old events only then. */
  const slow = new Proxy(session, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name);
      if (name !== "events") return typeof value === "function" ? value.bind(target) : value;
      return async function* (options: EventsOptions): AsyncGenerator<SessionEvent> {
        for await (const event of session.events(options)) {
          if (options.subAgent === undefined && event.position === last) {
            await shown.promise;
            await setImmediate();
          }
          yield event;
          if (event.type === "part.text-delta") shown.resolve();
        }
      };
    },
  });
  const encoder = uiEncoder({ session: "p" });
  const seen: [position: number, isProgress: boolean][] = [];
  for await (const { position, chunks } of streamEvents(slow, { turn: 1 }, encoder)) {
    const isProgress = outputsOf(chunks).some(({ preliminary }) => preliminary === true);
    seen.push([position, isProgress]);
    if (position >= last) break;
  }
  expect(seen.at(-1)).toEqual([last, false]);
  expect(seen.filter(([, isProgress]) => isProgress)).toEqual([]);
});

it("is read for an encoder that shows it, and for no other", async () => {
  const paused = gate();
  await using runtime = await createRuntime({ memory: true, agent: teamOf("Half", paused, ".") });
  const session = await runtime.session("p");
  const read: EventsOptions[] = [];
  const watched = new Proxy(session, {
    get(target, name): unknown {
      if (name !== "events") return Reflect.get(target, name);
      return (options: EventsOptions) => (read.push(options), target.events(options));
    },
  });
  await session.send("Go", { id: "m" });
  const starts: EventEncoder<number, string> = {
    initial: () => 0,
    encode: (calls, { type }) => ({
      state: type === "tool.started" ? calls + 1 : calls,
      chunks: [type],
    }),
  };
  const progress: EventEncoder<number, string>["progress"] = (calls, { callId, message }) => [
    `${calls} ${callId} ${JSON.stringify(message.parts)}`,
  ];
  const without = Array.fromAsync(streamEvents(watched, {}, starts), ({ chunks }) => chunks);
  const shown: string[] = [];
  for await (const { chunks } of streamEvents(watched, {}, { ...starts, progress })) {
    shown.push(...chunks);
    if (chunks.some((chunk) => chunk.startsWith("1 c ") && chunk.includes('"Half"'))) paused.open();
  }
  expect(shown.at(-1)).toBe("turn.ended");
  expect((await without).flat()).toEqual(shown.filter((chunk) => !chunk.startsWith("1 c ")));
  expect(read.filter(({ subAgent }) => subAgent !== undefined)).toHaveLength(1);
});

it("sends a long message again only when it has grown by a tenth", async () => {
  const deltas = Array.from({ length: 2000 }, () => "word ");
  await using runtime = await createRuntime({ memory: true, agent: teamOf(...deltas) });
  const session = await runtime.session("p");
  await session.send("Go", { id: "m" });
  const chunks = await Array.fromAsync(uiStream(session, { messageId: "m" }));
  const sent = outputsOf(chunks).reduce((sum, one) => sum + JSON.stringify(one).length, 0);
  expect(sent).toBeLessThan(15 * deltas.join("").length);
});

it("counts the tokens of sub-agents apart and together, and leaves its own figures alone", async () => {
  await using runtime = await createRuntime({ memory: true, agent: teamOf("Looked.") });
  const session = await runtime.session("p");
  const { usage } = await (await session.send("Go")).result;
  const { own, total, subAgents } = await session.subAgents();
  expect(own.inputTokens).toBe(usage.inputTokens);
  expect(subAgents).toMatchObject([{ callId: "c", toolName: "help", status: "succeeded" }]);
  expect(total.outputTokens).toBe(own.outputTokens + (subAgents[0]?.total.outputTokens ?? 0));
  const fork = await session.fork();
  expect((await fork.subAgents()).subAgents).toEqual([]);
  await expect(Array.fromAsync(session.events({ subAgent: "other" }))).rejects.toMatchObject({
    code: "INVALID_INPUT",
  });
  await runtime.delete(subAgents[0]?.session ?? "");
  expect(await session.subAgents()).toMatchObject({ total: own, subAgents: [] });
});

it("is replayed from the record of its parent, and alone", async () => {
  const log = await openMemoryLog();
  const first = await createRuntime({ log, agent: teamOf("Looked.") });
  const session = await first.session("p");
  await (
    await session.send("Go")
  ).result;
  await first.close();
  const events = await Array.fromAsync(log.read("p"));
  expect((await replay(events, teamOf("Never said."))).difference).toBeUndefined();
  const [child = ""] = events.flatMap(({ type, data }) =>
    type === "tool.started" && data.child !== undefined ? [data.child] : [],
  );
  const own = await Array.fromAsync(log.read(child));
  expect(own[0]).toMatchObject({ type: "session.created", data: { parent: { session: "p" } } });
  const helper = { model: scriptedModel([]) };
  expect((await replay(own, helper)).difference).toBeUndefined();
});

it("is deleted with its parent, first", async () => {
  const log = await openMemoryLog();
  await using runtime = await createRuntime({ log, agent: teamOf("Looked.") });
  const session = await runtime.session("p");
  await (
    await session.send("Go")
  ).result;
  await runtime.session("p/notes");
  const [child] = (await session.subAgents()).subAgents;
  expect(await runtime.delete("p")).toMatchObject({ children: [child?.session] });
  expect((await Array.fromAsync(log.list())).map((one) => one.session)).toEqual(["p/notes"]);
});
