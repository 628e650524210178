/** Gives events the times that a real provider and real tools would have: recorded ones take no time. Pure. */

import { z } from "zod";

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
export function paced(lines: readonly string[], start: number): readonly string[] {
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
export function cutOff(
  lines: readonly string[],
  isLast: (type: string) => boolean,
): readonly string[] {
  const [header = "", ...events] = lines;
  const last = events.findIndex((line) => isLast(eventSchema.parse(JSON.parse(line)).type));
  const kept = events.slice(0, last + 1);
  const counted = { ...z.looseObject({}).parse(JSON.parse(header)), events: kept.length };
  return [JSON.stringify(counted), ...kept];
}
