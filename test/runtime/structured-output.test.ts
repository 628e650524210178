/** Structured output: a turn's text by the AI SDK's `Output`, of the agent or of a message. */

import { isStepCount, Output, streamText, tool, type OutputInterface } from "ai";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { createRuntime, openMemoryLog, viewSession, type Agent } from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { parsedOutput } from "../../src/agent/index.ts";
import { outputElements } from "../../src/runtime/session/turn.ts";
import { systemTimer, type Timer } from "../../src/shared/index.ts";
import { replay } from "../../src/replay/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { virtualTime } from "../support/virtual-time.ts";
import { openSession } from "../support/with-runtime.ts";

const schema = z.object({ city: z.string(), days: z.number() });
const trip = Output.object({ schema, name: "trip", description: "A trip" });
const said = '{"city":"Ulm","days":2}';

/** The same text in deltas of some characters. */
function streamed(text: string): ScriptedStep {
  return saying(...(text.match(/.{1,7}/gs) ?? []));
}

const kinds: Readonly<Record<string, { readonly output: OutputInterface; readonly text: string }>> =
  {
    object: { output: trip, text: said },
    array: {
      output: Output.array({ element: schema }),
      text: `{"elements":[${said},${said.replace("Ulm", "Bonn")}]}`,
    },
    choice: { output: Output.choice({ options: ["yes", "no"] }), text: '{"result":"yes"}' },
    json: { output: Output.json(), text: '{"any":[1,2]}' },
    text: { output: Output.text(), text: "Hello." },
  };

describe.each(["language-model-call", "stream-text"] as const)("by %s", (stepSource) => {
  it.each(Object.entries(kinds))(
    "%s: the model is asked, and its reply read, as by streamText",
    async (kind, { output, text }) => {
      const theirs = scriptedModel([streamed(text)]);
      const result = streamText({ model: theirs, output, prompt: "Where to?" });
      const partials = await Array.fromAsync(result.partialOutputStream);
      const ours = scriptedModel([streamed(text)]);
      await using open = await openSession({ model: ours, output }, { stepSource });
      const turn = await open.session.send("Where to?");
      const own = await Array.fromAsync(turn.partialOutputs);
      expect(own).toEqual(partials);
      const ended = await turn.result;
      // The text is the output of text.
      expect(kind === "text" ? ended.text : ended.output).toEqual(await result.output);
      expect(ours.calls.map(({ responseFormat }) => responseFormat)).toEqual(
        theirs.calls.map(({ responseFormat }) => responseFormat),
      );
    },
  );
});

it("has the type of the output that the message asks for", async () => {
  const model = scriptedModel([said, '{"elements":[1,2]}']);
  await using open = await openSession({ model });
  const turn = await open.session.send("Where to?", { output: trip });
  const { output } = await turn.result;
  expectTypeOf(output).toEqualTypeOf<z.infer<typeof schema> | undefined>();
  expect(output).toEqual({ city: "Ulm", days: 2 });
  const list = await open.session.send("How many?", {
    output: Output.array({ element: z.number() }),
  });
  const numbers: number[] = await Array.fromAsync(list.elements);
  expect(numbers).toEqual([1, 2]);
  const plain = await open.session.turn(turn.messageId);
  expectTypeOf((await plain.result).output).toBeUnknown();
});

it("fails the result of a turn whose text does not fit, keeps the text, and the next message works", async () => {
  const model = scriptedModel(['{"city":"Ulm"}', "No JSON", said]);
  await using open = await openSession({ model, output: trip });
  const { session } = open;
  for (const text of ['{"city":"Ulm"}', "No JSON"]) {
    const turn = await session.send("Where to?");
    await expect(turn.result).rejects.toMatchObject({
      code: "OUTPUT_INVALID",
      details: { result: { text, finishReason: "stop" } },
    });
    const { history } = await session.view();
    expect(history.at(-1)).toMatchObject({
      kind: "turn-end",
      reason: "stop",
      output: { error: { name: "AI_NoObjectGeneratedError" } },
    });
  }
  expect(await (await session.send("Again.")).result).toMatchObject({
    output: { city: "Ulm", days: 2 },
  });
});

/** What the log says of a text that cannot be parsed. */
function unread(text: string): string {
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return `No object generated: could not parse the response. ${String(error).replace("SyntaxError: ", "")}`;
  }
}

describe("a text that is no JSON", () => {
  const quoted = '{"city":"Ulm, }","days":2}';
  it.each([
    ["in a code fence", `\`\`\`json\n${said}\n\`\`\``, true],
    ["between words", `Here it is: ${said} Have fun, "Ulm" is nice.`, true],
    ["with trailing commas", '{"city":"Ulm","days":2,\n}', true],
    ["with all of them", `So:\n\`\`\`\n${said.replace("}", ", }")}\n\`\`\`\nFine.`, true],
    ["with a comma before a bracket in a text", `So: ${quoted}`, true],
    ["with a second value", `${said} or ${said.replace("Ulm", "Bonn")}`, false],
    ["with a second value that was cut off", `${said} or {"city"`, false],
    ["with another list", `As in [1]: ${said}`, false],
    ["that was cut off", said.slice(0, -1), false],
    ["with two commas", '{"city":"Ulm","days":2,,}', false],
    ["that does not fit once it is repaired", 'So: {"city":"Ulm"}', false],
    ["that is JSON, with an object in a text", JSON.stringify(`So: ${said}`), false],
  ])("%s", async (_, text, isRepaired) => {
    const ends: unknown[] = [];
    const agent: Agent = {
      model: scriptedModel([text, text]),
      output: trip,
      onEnd: (event) => void ends.push(event),
    };
    await using open = await openSession(agent);
    const value = { city: text.includes("Ulm, }") ? "Ulm, }" : "Ulm", days: 2 };
    const output: unknown = isRepaired
      ? { value, repaired: true }
      : { error: { name: "AI_NoObjectGeneratedError" } };
    for (const options of [{}, { output: trip }]) {
      const { result } = await open.session.send("Where to?", options);
      expect(await result.catch((error: unknown) => error)).toMatchObject(
        isRepaired ? { text, output: value, repaired: true } : { code: "OUTPUT_INVALID" },
      );
      const { history } = await open.session.view();
      expect(history.at(-1)).toMatchObject({ kind: "turn-end", reason: "stop", output });
    }
    await expect.poll(() => ends.length).toBe(2);
    const told = { output: isRepaired ? value : undefined };
    expect(ends).toMatchObject([told, told]);
    const events = await open.events();
    const same = { events: events.length, parts: expect.anything() as unknown };
    expect(await replay(events, agent)).toEqual(same);
    // As an earlier release recorded it, which repaired nothing.
    const error = { name: "AI_NoObjectGeneratedError", message: unread(text) };
    const before = events.map((event) =>
      event.type === "turn.ended" && event.data.output?.repaired === true
        ? { ...event, data: { ...event.data, output: { error } } }
        : event,
    );
    expect(await replay(before, agent)).toEqual(same);
  });

  it("is no fault of a text that was asked for, nor repaired then", async () => {
    const text = `Here: ${said}`;
    await using open = await openSession({ model: scriptedModel([text]), output: Output.text() });
    const turn = await open.session.send("Where to?");
    expect(await turn.result).toMatchObject({ text, output: undefined });
  });

  it("is read in good time, however long and however many brackets and quotes it has", async () => {
    for (const piece of ["{", '"', "[{", ", ", '\\"', "{}", '{"a":1,}'])
      expect(await parsedOutput(trip, `{${piece.repeat(50_000)}`)).toHaveProperty("error");
  });
});

it("is read from the last step only, where tools are called before", async () => {
  const look = tool({ inputSchema: z.object({}), execute: () => "sunny" });
  const script = [
    calling({ type: "text", deltas: ['{"city":"Bonn"'] }, call("look", "1")),
    streamed(said),
  ];
  const model = scriptedModel(script);
  await using open = await openSession({ model, tools: { look } });
  const turn = await open.session.send("Where to?", { output: trip });
  const partials = await Array.fromAsync(turn.partialOutputs);
  expect(partials.at(0)).toEqual({ city: "Bonn" });
  expect(partials.at(-1)).toEqual({ city: "Ulm", days: 2 });
  expect((await turn.result).output).toEqual({ city: "Ulm", days: 2 });
  const theirs = scriptedModel(script);
  const result = streamText({
    model: theirs,
    tools: { look },
    output: trip,
    prompt: "Where to?",
    stopWhen: isStepCount(9),
  });
  expect(await result.output).toEqual((await turn.result).output);
});

it("is in the log: without the schema, after a restart, and at a position", async () => {
  const log = await openMemoryLog();
  const dated = Output.object({
    schema: z.object({ at: z.string().transform((at) => new Date(at)) }),
  });
  const agent = { model: scriptedModel(['{"at":"2020-02-02"}']) };
  const first = await createRuntime({ log, agent });
  const turn = await (await first.session("s")).send("When?", { output: dated });
  expect((await turn.result).output).toEqual({ at: new Date("2020-02-02") });
  await first.close();
  await using second = await createRuntime({ log, agent });
  const again = await (await second.session("s")).turn(turn.messageId);
  expect((await again.result).output).toEqual({ at: "2020-02-02T00:00:00.000Z" });
  const { history } = await viewSession(log, "s");
  expect(history.at(-1)).toMatchObject({ output: { value: { at: "2020-02-02T00:00:00.000Z" } } });
});

it("is absent in a turn that was cancelled, and a text without it is refused as partial output", async () => {
  const stop = gate();
  const model = scriptedModel([saying('{"city":', stop), "Hello."]);
  await using open = await openSession({ model });
  const turn = await open.session.send("Where to?", { output: trip });
  await stop.reached;
  await open.session.cancel();
  expect(await turn.result).toMatchObject({ finishReason: "cancelled", output: undefined });
  const plain = await open.session.send("And?");
  await expect(Array.fromAsync(plain.partialOutputs)).rejects.toMatchObject({
    code: "INVALID_INPUT",
  });
  expect((await plain.result).output).toBeUndefined();
  // @ts-expect-error An output is one of the AI SDK's.
  await expect(open.session.send("And?", { output: schema })).rejects.toMatchObject({
    code: "INVALID_INPUT",
  });
});

it("belongs to the turn that the message begins, also if it waits for it", async () => {
  const stop = gate();
  const model = scriptedModel([saying("Hello", stop), said]);
  await using open = await openSession({ model });
  const first = await open.session.send("Hi.");
  await stop.reached;
  const second = await open.session.send("Where to?", { output: trip });
  stop.open();
  expect((await first.result).output).toBeUndefined();
  expect((await second.result).output).toEqual({ city: "Ulm", days: 2 });
  expect(model.calls.map(({ responseFormat }) => responseFormat?.type)).toEqual([
    undefined,
    "json",
  ]);
});

it("is read again when the process dies before the turn has ended", async () => {
  const log = await openMemoryLog();
  const reading = Promise.withResolvers<void>();
  const slow = Output.object({
    schema: schema.refine(async () => {
      reading.resolve();
      return await new Promise<boolean>(() => {});
    }),
  });
  const first = await createRuntime({ log, agent: { model: scriptedModel([said]), output: slow } });
  const turn = await (await first.session("s")).send("Where to?");
  turn.result.catch(() => {});
  await reading.promise;
  for await (const { type } of log.subscribe("s")) if (type === "step.finished") break;
  const events = await Array.fromAsync(log.read("s"));
  const copy = await openMemoryLog();
  const left = events.map(({ position: _, ...event }) => event);
  await copy.append("s", "none", left, { origin: "copied" });
  const agent = { model: scriptedModel([]), output: trip };
  await using second = await createRuntime({ log: copy, agent });
  const session = await second.session("s");
  await session.idle();
  const { history } = await session.view();
  expect(history.at(-1)).toMatchObject({
    reason: "stop",
    output: { value: { city: "Ulm", days: 2 } },
  });
});

/** A schema that never answers, which says when it was asked. */
function endless(): { readonly output: OutputInterface; readonly asked: Promise<void> } {
  const asked = Promise.withResolvers<void>();
  const refined = schema.refine(async () => {
    asked.resolve();
    return await new Promise<boolean>(() => {});
  });
  return { output: Output.object({ schema: refined }), asked: asked.promise };
}

describe("A schema that never settles", () => {
  it("holds its turn until it is cancelled: the text is kept, and the next message works", async () => {
    const { output, asked } = endless();
    let now = 0;
    const clock = (): number => (now += 10);
    await using open = await openSession({ model: scriptedModel([said, "Fine."]) }, { clock });
    const { session } = open;
    const turn = await session.send("Where to?", { output });
    await asked;
    expect(await session.cancel()).toMatchObject({ ended: "cancelled", kept: { text: said } });
    expect(await turn.result).toMatchObject({
      finishReason: "cancelled",
      text: said,
      output: undefined,
    });
    expect((await (await session.send("And?")).result).text).toBe("Fine.");
    const events = await open.events();
    const inTime = { pace: "recorded", time: virtualTime() } as const;
    for (const pace of [{}, inTime])
      expect(await replay(events, { model: scriptedModel([]) }, pace)).toEqual({
        events: events.length,
        parts: expect.anything() as unknown,
      });
  });

  it("ends its turn as timed out when the turn's time is up, without a last step", async () => {
    const { output, asked } = endless();
    const dues: (() => void)[] = [];
    const timer: Timer = (milliseconds, due, wait) => {
      if (wait.kind !== "turn" || milliseconds !== 5000)
        return systemTimer(milliseconds, due, wait);
      dues.push(due);
      return { [Symbol.dispose]: () => dues.splice(dues.indexOf(due), 1) };
    };
    const agent: Agent = {
      model: scriptedModel([said, "Fine."]),
      timeout: { totalMs: 5000, stepMs: 1 },
      timeLimits: { lastStep: true },
    };
    await using open = await openSession(agent, { timer });
    const turn = await open.session.send("Where to?", { output });
    await asked;
    dues.at(-1)?.();
    expect(await turn.result).toMatchObject({ finishReason: "timed-out", text: said });
    expect(dues).toEqual([]);
    const events = await open.events();
    expect(
      events.flatMap(({ type, data }) => (type === "turn.limit-reached" ? [data] : [])),
    ).toEqual([{ turn: 1, limit: "time", lastStep: false }]);
    for (const replayed of [agent, { ...agent, output: trip }])
      expect(await replay(events, replayed)).toEqual({
        events: events.length,
        parts: expect.anything() as unknown,
      });
  });

  it("does not hold the close of its runtime, which cancels the turn", async () => {
    const { output, asked } = endless();
    const log = await openMemoryLog();
    const runtime = await createRuntime({ log, agent: { model: scriptedModel([said]), output } });
    const turn = await (await runtime.session("s")).send("Where to?");
    const { result } = turn;
    await asked;
    await runtime.close();
    expect(await result).toMatchObject({ finishReason: "cancelled", text: said });
  });

  it("is asked by the next process too, which can be told to stop", async () => {
    const first = endless();
    const log = await openMemoryLog();
    const agent = { model: scriptedModel([said]), output: first.output };
    const dying = await createRuntime({ log, agent });
    const turn = await (await dying.session("s")).send("Where to?");
    turn.result.catch(() => {});
    await first.asked;
    for await (const { type } of log.subscribe("s")) if (type === "step.finished") break;
    const copy = await openMemoryLog();
    const left = (await Array.fromAsync(log.read("s"))).map(({ position: _, ...event }) => event);
    await copy.append("s", "none", left, { origin: "copied" });
    const again = endless();
    const next = { model: scriptedModel([]), output: again.output };
    await using open = await openSession(next, { log: copy });
    await again.asked;
    expect(await open.session.cancel()).toMatchObject({ ended: "cancelled" });
  });
});

it("comes again in a replay, and another schema of the agent is a difference", async () => {
  const agent = { model: scriptedModel([said, "No JSON"]), output: trip };
  for (const given of [
    { agent, options: {} },
    { agent: { model: scriptedModel([said, "No JSON"]) }, options: { output: trip } },
  ]) {
    await using open = await openSession(given.agent);
    await (
      await open.session.send("Where to?", given.options)
    ).result;
    await expect((await open.session.send("And?", given.options)).result).rejects.toMatchObject({
      code: "OUTPUT_INVALID",
    });
    const events = await open.events();
    expect(await replay(events, given.agent)).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
    if (given.agent !== agent) continue;
    const other = { ...agent, output: Output.object({ schema: z.object({ town: z.string() }) }) };
    expect(await replay(events, other)).toMatchObject({
      difference: { recorded: { type: "step.started" }, replayed: { type: "prompt.configured" } },
    });
  }
});

it("gives each element once, also after an attempt that had given some of them", async () => {
  const partials = [[1], [1, 2], [], [1], [1, 2], [1, 2, 3]];
  const elements = outputElements(ReadableStream.from(partials));
  expect(await Array.fromAsync(elements)).toEqual([1, 2, 3]);
});
