/**
 * The stores that `npm run bench:studio` opens: two sessions of 100,000 events, one of deltas and one of calls; and
 * 2,000 sessions, with one whose prompt has two results of 3 MB.
 */

import { tool } from "ai";
import { z } from "zod";
import type { NewEvent } from "../src/events/index.ts";
import { createRuntime, openLog, type SessionEvent } from "../src/public/index.ts";
import { scriptedModel } from "../src/public/testing.ts";

const EVENTS = 100_000;
const DELTAS = 390;
/** Of the session of calls, before now. */
const TURNS = 2_000;
const TURN_MS = 9_000;

const SESSIONS = 2_000;
const RESULT = 3_000_000;

export async function makeManySessions(dir: string): Promise<void> {
  let calls = 0;
  // Some turns fail, as the badges and the search of the list should say.
  const model = scriptedModel(() =>
    ++calls % 7 === 0 ? { failure: new Error("The provider is away") } : "It is on its way.",
  );
  {
    await using runtime = await createRuntime({
      dir,
      durability: "os",
      agent: { model, maxRetries: 0 },
    });
    for (let index = 0; index < SESSIONS; index++) {
      const metadata = { tenant: `t-${index % 10}`, user: `u-${index % 100}` };
      const session = await runtime.session(`many-${index}`, { metadata });
      const turn = await session.send(`Where is my order ${index}?`);
      await turn.untilRest().catch(() => {});
    }
  }
  await makeLarge(dir);
}

async function makeLarge(dir: string): Promise<void> {
  const call = (id: string) =>
    ({ type: "tool-call", toolCallId: id, toolName: "read", input: {} }) as const;
  const read = tool({
    inputSchema: z.object({}),
    execute: () =>
      Array.from({ length: RESULT / 100 }, (_, row) => `Row ${row} `.padEnd(97, "abc ")),
  });
  const model = scriptedModel([{ parts: [call("a"), call("b")] }, "Both are there."]);
  const context = { compact: false, prune: false, cut: false } as const;
  await using runtime = await createRuntime({ dir, agent: { model, tools: { read }, context } });
  const session = await runtime.session("large");
  await (
    await session.send("Read both.")
  ).result;
}

export async function makeStore(dir: string): Promise<void> {
  await makeStreamed(dir);
  await makeCalls(dir);
}

/** Turns that stream one long text each: most events are deltas, which the studio joins. */
async function makeStreamed(dir: string): Promise<void> {
  const words = Array.from({ length: DELTAS }, (_, index) =>
    index % 9 === 0 ? "delta " : "words ",
  );
  const model = scriptedModel(() => ({ parts: [{ type: "text", deltas: words }] }));
  const context = { compact: false, prune: false } as const;
  await using runtime = await createRuntime({ dir, durability: "os", agent: { model, context } });
  const session = await runtime.session("streamed");
  while ((await runtime.log.revision("streamed")) < EVENTS)
    await (
      await session.send("Tell me more, at some length.")
    ).result;
}

/** One recorded turn of three steps and five calls, again and again: almost no events can be joined. */
async function makeCalls(dir: string): Promise<void> {
  const [created, ...turn] = await recordedTurn();
  if (created === undefined) return;
  await using log = await openLog({ dir, durability: "os" });
  let { revision } = await log.append("calls", "none", [again(created, 0)]);
  for (let index = 0; revision < EVENTS; index++) {
    const next = turn.map((event) => again(event, index));
    ({ revision } = await log.append("calls", revision, next));
  }
}

async function recordedTurn(): Promise<readonly SessionEvent[]> {
  const lookup = tool({
    inputSchema: z.object({ row: z.number() }),
    execute: ({ row }) => `Row ${row}: able about above after again`,
  });
  const call = (row: number) =>
    ({ type: "tool-call", toolCallId: `call_${row}`, toolName: "lookup", input: { row } }) as const;
  const model = scriptedModel([
    { parts: [{ type: "text", deltas: ["I look."] }, call(1), call(2), call(3)] },
    { parts: [call(4), call(5)] },
    { parts: [{ type: "text", deltas: ["Both ", "are there."] }] },
  ]);
  await using runtime = await createRuntime({ memory: true, agent: { model, tools: { lookup } } });
  await (
    await (await runtime.session("calls")).send("Look the rows up.")
  ).result;
  return await Array.fromAsync(runtime.log.read("calls"));
}

/** An event of the turn after so many turns: other numbers of the turn and its steps, other ids, another time. */
function again({ position: _, ...event }: SessionEvent, turns: number): NewEvent {
  const text = JSON.stringify(event)
    .replaceAll(/"turn":\d+/gu, `"turn":${1 + turns}`)
    .replaceAll(/"step":(\d+)/gu, (_, step: string) => `"step":${Number(step) + 3 * turns}`)
    .replaceAll(
      /"time":(\d+)/gu,
      (_, time: string) => `"time":${Number(time) + TURN_MS * (turns - TURNS)}`,
    )
    .replaceAll(/(call_\d|calls\/\d)/gu, `$1-${turns}`)
    .replaceAll(/"(id|ids)":(\[?)"(\w{8}-)/gu, `"$1":$2"${turns}-$3`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(text) as NewEvent;
}
