/** Milliseconds from the call of an append to a follower in another process. */

import { setTimeout } from "node:timers/promises";
import { openPostgresLog } from "../../src/public/postgres.ts";
import { startFollower } from "./followers.ts";
import { alone } from "./events.ts";

export interface Latency {
  readonly listen: boolean;
  readonly p50: number;
  readonly p99: number;
}

export async function measureLatency(
  connectionString: string,
  program: string,
  { listen, appends }: { readonly listen: boolean; readonly appends: number },
): Promise<Latency> {
  const schema = `latency_${listen ? "listen" : "poll"}`;
  await using log = await openPostgresLog({ connectionString, schema, listen });
  await log.append("warm", "any", [alone(0)]);
  const follower = await startFollower({ program, connectionString, schema, listen });
  const sent: number[] = [];
  await setTimeout(1000);
  for (let index = 1; index <= appends; index++) {
    sent.push(performance.timeOrigin + performance.now());
    await log.append("s", "any", [alone(index)]);
    await setTimeout(7 + (index % 13));
  }
  while (!follower.seen.has(`s ${appends}`)) await setTimeout(20);
  await follower.end();
  const waits = sent
    .map((at, index) => (follower.seen.get(`s ${index + 1}`) ?? Number.NaN) - at)
    .toSorted((one, other) => one - other);
  const at = (share: number): number => waits[Math.floor((waits.length - 1) * share)] ?? Number.NaN;
  return { listen, p50: at(0.5), p99: at(0.99) };
}
