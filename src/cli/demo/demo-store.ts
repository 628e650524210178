/** Makes the store of the demo: plays each session in memory, gives it times, and writes it. */

import { openLog } from "../../store/leveldb/index.ts";
import { createRuntime, type Runtime } from "../../runtime/index.ts";
import { exportSession, importSession } from "../../archive/exchange/index.ts";
import type { Agent } from "../../agent/index.ts";
import { scriptedAgent } from "./demo-agent.ts";
import { cutOff, paced } from "./demo-pace.ts";
import { crashed, plays, scripts } from "./demo-sessions.ts";

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

/** The first half of a session is brought back as a dead process would have left it; then it goes on. */
async function playCrash(runtime: Runtime): Promise<void> {
  const first = await runtime.session(crashed.before);
  await (
    await first.send(crashed.message)
  ).result;
  const lines = await Array.fromAsync(exportSession(runtime.log, crashed.before));
  await importSession(runtime.log, cutOff(lines, crashed.isLast), { as: crashed.name });
  await (await runtime.session(crashed.name)).idle();
}
