/**
 * One life of a service: sessions of many tenants with named agents, sub-agents and messages for later, and a read
 * model of all of them beside the store. First it resumes what the life before left, then it serves new sessions,
 * and kills itself in the middle of them. Without `dieAfter` it ends once everything accepted is answered.
 */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { agentTool, createRuntime, type Agent } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { call, calling } from "../support/script.ts";
import { seededRandom } from "../support/random.ts";
import { type Due, type Life, modelRow, servicePlan, sessionOf, tenantOf } from "./service-plan.ts";

const { dir, tenants, to, life, dieAfter } = servicePlan.parse(JSON.parse(process.argv[2] ?? ""));
const timeSchema = z.tuple([z.string(), z.number()]);
const random = seededRandom(`service ${life}`);
const linesOf = (file: string): string[] =>
  existsSync(join(dir, file)) ? readFileSync(join(dir, file), "utf8").split("\n").slice(0, -1) : [];
const note = (file: string, line: unknown): void => {
  appendFileSync(join(dir, file), `${JSON.stringify(line)}\n`);
};

const research: Agent = {
  model: scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === "user" ? calling(call("look", "c", { task: "Why?" })) : "It is 42.",
  ),
  tools: {
    look: agentTool({ agent: { model: scriptedModel(() => "42.") }, description: "Looks." }),
  },
};
const runtime = await createRuntime({
  dir: join(dir, "store"),
  durability: "os",
  recovery: "continue",
  agents: { support: { model: scriptedModel(() => "Fine.") }, research },
  indexed: ["tenant"],
  limits: { perKey: { tenant: { tokens: 1_000_000_000 } } },
});
const startedAt = Date.now();
const cpuBefore = process.cpuUsage();
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage(cpuBefore);
  return (user + system) / 1000;
};

/** The messages that were accepted, and those that a turn has answered. */
const accepted = new Set(
  linesOf("accepted.jsonl").map((line) => z.string().parse(JSON.parse(line))),
);
const answered = new Set<string>();
/** The last position of each session that the read model has. */
const seen = new Map<string, number>();
let look = (): void => {};
/** Resolves when the read model has got that far. */
const caughtUp = async (isThere: () => boolean): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  look = () => {
    if (isThere()) resolve();
  };
  look();
  await promise;
};

let last = 0;
for (const line of linesOf("model.jsonl")) {
  const [position, session, own, , ids] = modelRow.parse(JSON.parse(line));
  last = position;
  seen.set(session, own);
  for (const id of ids) answered.add(id);
}
/** Events that the read model had not had: others come again after a kill. */
let added = 0;
await runtime.consume("model", ({ session, event, position }) => {
  if (event.type === "message.rescheduled" && event.time >= startedAt)
    note("due.jsonl", {
      session,
      position: event.position,
      startedAt,
      cpuMs: cpuMs(),
    } satisfies Due);
  if (position > last) {
    const taken = event.type === "message.delivered" ? event.data.ids : [];
    note("model.jsonl", [position, session, event.position, event.type, taken]);
    for (const id of taken) answered.add(id);
    seen.set(session, event.position);
    last = position;
    added += 1;
  }
  look();
  if (dieAfter !== undefined && added > dieAfter) process.kill(process.pid, "SIGKILL");
});

const { resumed, scheduled, failed } = await runtime.resumeAll();
const told: Life = {
  life,
  startedAt,
  resumed: resumed.length,
  scheduled: scheduled.length,
  failed: failed.map(({ error }) => error.message),
  cpuMs: cpuMs(),
};
note("lives.jsonl", told);

/** The time of a message for later, noted before it is sent: a client that repeats itself says the same. */
const times = new Map(linesOf("times.jsonl").map((line) => timeSchema.parse(JSON.parse(line))));
function timeOf(id: string): Date {
  const known = times.get(id);
  if (known !== undefined) return new Date(known);
  const time = Date.now() + random.below(500);
  note("times.jsonl", [id, time]);
  return new Date(time);
}

/** A request of a user: a message now, and of some sessions one for later. */
async function serve(n: number): Promise<void> {
  const agent = n % 5 === 0 ? "research" : "support";
  const metadata = { tenant: tenantOf(n, tenants) };
  const session = await runtime.session(sessionOf(n), { agent, metadata });
  const send = async (id: string, notBefore?: Date) => {
    const turn = await session.send(`Message ${id}.`, {
      id,
      ...(notBefore === undefined ? {} : { notBefore }),
    });
    if (!accepted.has(id)) note("accepted.jsonl", id);
    accepted.add(id);
    return turn;
  };
  const turn = await send(`${n}-now`);
  if (n % 3 === 0) await send(`${n}-later`, timeOf(`${n}-later`));
  await turn.result;
}

const open = Array.from({ length: to }, (_, n) => n).filter(
  (n) => !accepted.has(`${n}-now`) || (n % 3 === 0 && !accepted.has(`${n}-later`)),
);
const waiting = open.values();
await Promise.all(
  Array.from({ length: 8 }, async () => {
    for (const n of waiting) await serve(n);
  }),
);
if (dieAfter !== undefined) await caughtUp(() => false);
await caughtUp(() => [...accepted].every((id) => answered.has(id)));
// The turns that the last messages began.
for (let n = 0; n < to; n++) await (await runtime.session(sessionOf(n))).idle();
const ends = await Array.fromAsync(runtime.log.list());
await caughtUp(() => ends.every(({ session, revision }) => seen.get(session) === revision));
await runtime.close();
