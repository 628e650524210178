/**
 * A process of its own that tells what sessions take of its memory:
 * `node --expose-gc bench/micro/sessions-child.ts <dir> <known> <idle> <active>`.
 */

import { setImmediate, setTimeout } from "node:timers/promises";
import { createRuntime, type Runtime, type Session } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { runTurnlog } from "../turnlog-session.ts";
import { createWorkload } from "../workload.ts";

const [dir = "", ...counts] = process.argv.slice(2);
const [known = 0, idle = 0, active = 0] = counts.map(Number);
const DELTAS = Array.from({ length: 200 }, (_, index) => `some words ${index} `);
const AT_ONCE = 100;
const LONG_MS = 3_600_000;

interface Taken {
  readonly heapBytes: number;
  readonly residentBytes: number;
}

async function memory(): Promise<Taken> {
  // What has ended is let go of in the turns that follow.
  for (let turn = 0; turn < 10; turn++) await setImmediate();
  for (let time = 0; time < 4; time++) globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heapBytes: heapUsed + external, residentBytes: rss };
}

async function inGroups(count: number, act: (index: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    const group = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, at) => from + at);
    await Promise.all(group.map(act));
  }
}

/** What sessions take that are there while `hold` runs. */
async function taken(
  options: { readonly name: string; readonly idleAfterMs: number },
  count: number,
  hold: (runtime: Runtime) => Promise<readonly (() => void)[]>,
): Promise<Taken> {
  await using runtime = await createRuntime({
    dir: `${dir}-${options.name}`,
    durability: "os",
    idleAfterMs: options.idleAfterMs,
    agent: { model: scriptedModel(answer(count)) },
  });
  // What the first session loads is no session's.
  await (await runtime.session("first")).send("Hello.").then((turn) => turn.result);
  const before = await memory();
  const release = await hold(runtime);
  const after = await memory();
  for (const each of release) each();
  return {
    heapBytes: after.heapBytes - before.heapBytes,
    residentBytes: after.residentBytes - before.residentBytes,
  };
}

const stops: ReturnType<typeof gate>[] = [];

/** A step for the first session and one for each that is to speak; those of the active wait at the end. */
function answer(count: number): Parameters<typeof scriptedModel>[0] {
  stops.length = 0;
  return Array.from({ length: count + 1 }, (_, index) => {
    const stop = gate();
    if (index > 0) stops.push(stop);
    return { parts: [{ type: "text", deltas: index === 0 ? DELTAS : [...DELTAS, stop] }] };
  });
}

await runTurnlog(createWorkload(10), { stepSource: "language-model-call", durability: "os" }, dir);

// Sessions that were opened once and passivated; their handles are held.
const sleeping = await taken({ name: "known", idleAfterMs: 0 }, 0, async (runtime) => {
  const handles: Session[] = [];
  await inGroups(known, async (index) => {
    handles.push(await runtime.session(`known-${index}`));
  });
  // Each is passivated when its timer ends.
  await setTimeout(50);
  return [() => (handles.length = 0)];
});

// Sessions that are live and wait for their first message.
const waiting = await taken({ name: "idle", idleAfterMs: LONG_MS }, 0, async (runtime) => {
  const handles: Session[] = [];
  await inGroups(idle, async (index) => {
    handles.push(await runtime.session(`idle-${index}`));
  });
  return [() => (handles.length = 0)];
});

// Sessions in the middle of a step, 200 deltas of which are there.
const speaking = await taken({ name: "active", idleAfterMs: LONG_MS }, active, async (runtime) => {
  await inGroups(active, async (index) => {
    await (await runtime.session(`active-${index}`)).send("Hello.");
  });
  await Promise.all(stops.map((stop) => stop.reached));
  return stops.map((stop) => stop.open);
});

const measured = { known, idle, active, sleeping, waiting, speaking };
process.stdout.write(`${JSON.stringify(measured)}\n`);
