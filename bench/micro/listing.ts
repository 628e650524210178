/** What a page of 50 sessions costs in stores of 100 and of 10,000, newest first and of one tenant in two. */

import { openMemoryLog, createRuntime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { sessionSummary } from "../../src/projections/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { toJson } from "../../src/shared/index.ts";
import { BENCH_MODEL } from "../long-history.ts";
import { mark } from "../meter.ts";
import { spread, type Spread } from "../statistics.ts";
import type { SessionQuery } from "../../src/state/index.ts";

const SIZES = [100, 10_000] as const;
const ROUNDS = 60;
const PAGE = 50;

/** Milliseconds of CPU. */
export interface Listing {
  readonly sessions: number;
  /** The first page with a filter, which reads all summaries. */
  readonly firstMs: number;
  readonly newest: Spread;
  readonly ofTenant: Spread;
}

export async function measureListing(): Promise<readonly Listing[]> {
  const rows: Listing[] = [];
  for (const sessions of SIZES) rows.push(await listing(sessions));
  return rows;
}

async function listing(sessions: number): Promise<Listing> {
  await using log = await openMemoryLog();
  const tenants = sessions / PAGE;
  for (let index = 0; index < sessions; index++)
    await fill(log, `s-${index}`, 1000 + index * 10, `tenant-${index % tenants}`);
  await using runtime = await createRuntime({
    log,
    indexed: ["tenant"],
    agent: { model: scriptedModel([]) },
  });
  const page = async (query: SessionQuery): Promise<number> => {
    const before = mark().cpuMs;
    const found = await Array.fromAsync(runtime.sessions({ limit: PAGE, ...query }));
    if (found.length !== PAGE) throw new Error(`A page has ${found.length} rows.`);
    return mark().cpuMs - before;
  };
  const where = { tenant: "tenant-1" };
  const firstMs = await page({ where });
  const [newest, ofTenant]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    newest.push(await page({}));
    ofTenant.push(await page({ where }));
  }
  // The first ones compile it.
  const taken = (samples: readonly number[]): Spread => spread(samples.slice(ROUNDS / 2));
  return { sessions, firstMs, newest: taken(newest), ofTenant: taken(ofTenant) };
}

/** A session with a turn that has ended, and its stored summary. */
async function fill(
  log: Awaited<ReturnType<typeof openMemoryLog>>,
  session: string,
  time: number,
  tenant: string,
): Promise<void> {
  const agent = { digest: "bench", model: BENCH_MODEL, tools: [] };
  const events: readonly SessionEvent[] = [
    { position: 1, time, type: "session.created", data: { agent, metadata: { tenant } } },
    { position: 2, time, type: "turn.started", data: { turn: 1, maxSteps: 20 } },
    { position: 3, time, type: "turn.ended", data: { turn: 1, reason: "stop" } },
  ];
  await log.append(session, "none", events, { origin: "recorded" });
  const summary = events.reduce(
    (state, event) => sessionSummary.fold(state, event),
    sessionSummary.initial,
  );
  const { name: projection, version } = sessionSummary;
  await log.saveSnapshot(session, { projection, version, position: 3, state: toJson(summary) });
}
