/** Makes the store of the demo: plays each session in memory, gives it times, and writes it. */

import { openLog } from "../../store/leveldb/index.ts";
import { createRuntime, type Runtime } from "../../runtime/index.ts";
import { exportSession, importSession } from "../../archive/exchange/index.ts";
import type { Agent } from "../../agent/index.ts";
import { scriptedAgent } from "./demo-agent.ts";
import { crashed, plays, scripts } from "./demo-sessions.ts";
import { z } from "zod";

const MINUTE = 60_000;

/** Writes the sessions of the demo into an empty folder. `now`: epoch milliseconds. */
export async function makeDemoStore(dir: string, now: number): Promise<void> {
  const agents = new Map<string, Agent>();
  const agentOf = (session: string): Agent => {
    const known = agents.get(session) ?? scriptedAgent(scripts[session] ?? []);
    agents.set(session, known);
    return known;
  };
  await using runtime = await createRuntime({
    memory: true,
    agent: ({ id }) => agentOf(id),
    recovery: "continue",
  });
  for (const [name, play] of Object.entries(plays)) await play(await runtime.session(name));
  await playCrash(runtime);
  await using log = await openLog({ dir });
  let ago = 7 * MINUTE;
  for await (const { session } of runtime.log.list()) {
    if (session === crashed.before) continue;
    const lines = await Array.fromAsync(exportSession(runtime.log, session));
    await importSession(log, paced(lines, now - ago), { as: session });
    ago += 43 * MINUTE;
  }
}

/** The first half of a session is imported as a dead process would have left it; then the session continues. */
async function playCrash(runtime: Runtime): Promise<void> {
  const first = await runtime.session(crashed.before);
  await (
    await first.send(crashed.message)
  ).result;
  const lines = await Array.fromAsync(exportSession(runtime.log, crashed.before));
  await importSession(runtime.log, cutOff(lines, crashed.isLast), { as: crashed.name });
  await (await runtime.session(crashed.name)).idle();
}

const eventSchema = z.looseObject({
  position: z.int(),
  time: z.number(),
  type: z.string(),
  data: z.looseObject({ toolName: z.string().optional(), step: z.number().optional() }),
});

/** Milliseconds before an event of a type. */
const before: Readonly<Record<string, number>> = {
  "message.queued": 34_000,
  "turn.started": 3,
  "step.started": 12,
  "part.start-step": 640,
  "part.reasoning-start": 90,
  "part.reasoning-delta": 24,
  "part.text-start": 60,
  "part.text-delta": 31,
  "part.tool-input-delta": 45,
  "tool.started": 4,
  "tool.succeeded": 420,
  "tool.failed": 900,
  "tool.approval-answered": 9_400,
  "step.retrying": 1_100,
  "context.compacted": 2_300,
  "session.recovered": 61_000,
  "session.rewound": 12_000,
};

/** The lines of an exported session, with times from `start` on (epoch milliseconds). */
function paced(lines: readonly string[], start: number): readonly string[] {
  const [header = "", ...events] = lines;
  let time = start;
  let retried = false;
  return [
    header,
    ...events.map((line) => {
      const event = eventSchema.parse(JSON.parse(line));
      const { position, type } = event;
      // Uneven, and the same at each run.
      const jitter = 0.55 + ((position * 7919) % 97) / 97;
      time +=
        Math.round((before[type] ?? 2) * jitter) + (retried && type === "step.started" ? 2_000 : 0);
      retried = type === "step.retrying";
      return JSON.stringify({ ...event, time });
    }),
  ];
}

/** The first events of an exported session, as a process that died there would have left them. */
function cutOff(lines: readonly string[], isLast: (type: string) => boolean): readonly string[] {
  const [header = "", ...events] = lines;
  const last = events.findIndex((line) => isLast(eventSchema.parse(JSON.parse(line)).type));
  const kept = events.slice(0, last + 1);
  const counted = { ...z.looseObject({}).parse(JSON.parse(header)), events: kept.length };
  return [JSON.stringify(counted), ...kept];
}
