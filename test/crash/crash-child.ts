/**
 * The process that is killed: runs a session on a store, sends messages to it at all times, takes
 * some back, cancels, goes back and edits, answers approvals, and tells at once what a user is shown and what was
 * accepted. Telling is synchronous, so a line that the parent has is a line that was true.
 */

import { appendFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { tool } from "ai";
import { z } from "zod";
import {
  createRuntime,
  defineEvents,
  openLog,
  TurnlogError,
  type Session,
} from "../../src/public/index.ts";
import { idOfQuestion } from "../support/answering.ts";
import { seededRandom } from "../support/random.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { crashAgent, sentDigest } from "./crash-agent.ts";
import { crashPlanSchema, type Place, type Told } from "./crash-plan.ts";

// What is killed does not write it at its end.
flushCompileCache();
const plan = crashPlanSchema.parse(JSON.parse(process.argv[2] ?? ""));
const random = seededRandom(plan.process);
let passed = 0;

/** Whether this is the moment to die. */
function isDue(place: Place, event?: object): boolean {
  const { die } = plan;
  if (die?.at !== place) return false;
  if (die.of !== undefined && !JSON.stringify(event).includes(die.of)) return false;
  passed += 1;
  return passed === die.after;
}

function pass(place: Place, event?: object): void {
  if (isDue(place, event)) process.kill(process.pid, "SIGKILL");
}

function tell(line: Told): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const log = await openLog({ dir: plan.store, durability: plan.durability });
const never = new Promise<never>(() => {});
let isDying = false;
const watched = wrapLog(log, {
  append: (id, expected, events, ...rest) => {
    if (isDying) return never;
    const last = events.findIndex((event) => isDue("written", event));
    const written = last === -1 ? events : events.slice(0, last + 1);
    const appended = log.append(id, expected, written, ...rest);
    for (const event of events) pass("append", event);
    if (last === -1) return appended;
    isDying = true;
    return appended.then(() => {
      process.kill(process.pid, "SIGKILL");
      return never;
    });
  },
});
const runtime = await createRuntime({
  log: watched,
  events: defineEvents({ "app.noted": z.object({ process: z.string() }) }),
  recovery: plan.recovery,
  stepSource: plan.stepSource,
  graceMs: 50,
  ...(plan.limit === undefined ? {} : { limits: { session: { tokens: plan.limit } } }),
  agent: crashAgent({
    works: plan.works,
    onWork: () => {
      pass("work");
    },
    onParse: () => {
      pass("parse");
    },
    onCall: (prompt) => {
      appendFileSync(plan.calls, `${sentDigest(prompt)}\n`);
      pass("call");
    },
  }),
});
await runtime.consume("notes", ({ position, session: name, event }) => {
  appendFileSync(plan.consumed, `${position} ${name} ${event.position} ${event.type}\n`);
});
let messages = 0;
const side: Promise<void>[] = [];
const session = await runtime.session(plan.session);
const showing = show(session);

// What the process before this one had asked, and nobody could answer any more.
const { approvals, outputRequests } = await session.view();
for (const { position, status } of approvals) if (status === "waiting") answer(session, position);
for (const { position, status } of outputRequests)
  if (status === "waiting") answerCall(session, position);
for (let turn = 0; turn < plan.turns; turn++) await converse(session);
await Promise.all(side);
await session.idle();
const { position } = await session.view();
await showing.until(position);
await runtime.close();
await log.close();

/** Shows every event, and answers what is asked. */
function show(shown: Session): { readonly until: (position: number) => Promise<void> } {
  const stop = new AbortController();
  let seen = plan.from - 1;
  let waiting: { readonly position: number; readonly resolve: () => void } | undefined;
  const following = (async () => {
    for await (const event of shown.events({ from: plan.from, signal: stop.signal })) {
      tell({ told: "shown", event });
      pass("shown", event);
      seen = event.position;
      if (waiting !== undefined && seen >= waiting.position) waiting.resolve();
      if (event.type === "tool.approval-requested") answer(shown, event.position);
      if (event.type === "tool.output-requested") answerCall(shown, event.position);
      // What waited is held then; its turn ends at the limit too.
      if (event.type === "turn.limit-reached")
        side.push(shown.idle().then(() => shown.resume().catch(refused)));
    }
  })();
  return {
    until: async (target) => {
      if (seen < target) {
        const reached = Promise.withResolvers<void>();
        waiting = { position: target, resolve: reached.resolve };
        await reached.promise;
      }
      stop.abort();
      await following;
    },
  };
}

function answer(asking: Session, position: number): void {
  const isAllowed = random.chance(0.7);
  const said = { reason: "so said the clerk", by: "clerk" };
  const answered = idOfQuestion(asking, position).then((approvalId) =>
    isAllowed ? asking.approve(approvalId, said) : asking.deny(approvalId, said),
  );
  // The call may have been skipped meanwhile, as when the turn was cancelled.
  side.push(
    answered.then(
      () => undefined,
      (error: unknown) => refused(error),
    ),
  );
}

/** Answers as the client that runs the tool. */
function answerCall(asking: Session, position: number): void {
  side.push(
    (async () => {
      const { outputRequests: all } = await asking.view();
      const asked = all.find((one) => one.position === position);
      if (asked?.status !== "waiting") return;
      const { requestId, step, callId } = asked;
      await asking.answerCall(requestId, { output: `To ${requestId}: yes.`, by: "client" });
      tell({ told: "answered", step, callId });
    })().catch(refused),
  );
}

/** One turn, with whatever occurs to a user while it runs. */
async function converse(talk: Session): Promise<void> {
  const { id, sending } = say(talk, "follow-up");
  const turn = await sending;
  for await (const event of turn) {
    tell({ told: "shown", event });
    const boundary = event.type === "step.finished" || event.type === "tool.started";
    if (!boundary) continue;
    if (random.chance(0.1)) side.push(say(talk, "steer").sending.then(() => undefined));
    if (random.chance(0.1)) side.push(say(talk, "follow-up").sending.then(() => undefined));
    if (random.chance(0.05)) side.push(change(talk));
    if (random.chance(0.1)) side.push(note(talk));
    if (random.chance(0.1)) side.push(later(talk));
    if (random.chance(0.05)) side.push(talk.setMetadata({ process: plan.process }));
    if (random.chance(0.04)) side.push(talk.cancel({ reason: "enough" }).then(() => undefined));
  }
  const { finishReason } = await turn.result;
  tell({ told: "ended", id, reason: finishReason });
  if (random.chance(0.4)) await goBack(talk, id);
  if (random.chance(0.2)) await reconfigure(talk);
}

/**
 * Takes the turn back, returns to the first branch, or says it otherwise. No turn runs again as it was: the
 * model would name its works as before.
 */
async function goBack(talk: Session, id: string): Promise<void> {
  const way = random.below(3);
  try {
    if (way === 0) await talk.rewind({ beforeMessage: id, tell: random.chance(0.5) });
    if (way === 1) await talk.checkout(1);
    if (way === 2) await say(talk, "follow-up", { replaces: id }).sending;
  } catch (error) {
    refused(error);
  }
}

function say(
  talk: Session,
  delivery: "steer" | "follow-up",
  more: { readonly replaces?: string; readonly notBefore?: Date } = {},
) {
  messages += 1;
  const id = `${plan.process}-${messages}`;
  const content = `Message ${id}: ${"go on ".repeat(random.below(10))}`;
  const sending = talk.send(content, { id, delivery, ...more });
  return {
    id,
    sending: sending.then((turn) => {
      tell({ told: "accepted", id });
      return turn;
    }),
  };
}

/** Notes something of the program's own. */
async function note(talk: Session): Promise<void> {
  const { position } = await talk.append("app.noted", { process: plan.process });
  tell({ told: "noted", position });
}

/** Says something for later, soon enough to come in this life or the next; sometimes it moves it, or takes it back. */
async function later(talk: Session): Promise<void> {
  const soon = (): Date => new Date(Date.now() + random.below(60));
  const { id, sending } = say(talk, "follow-up", { notBefore: soon() });
  await sending;
  try {
    if (random.chance(0.3)) await talk.reschedule(id, { notBefore: soon() });
    if (random.chance(0.2)) {
      await talk.withdraw(id, "not needed any more");
      tell({ told: "withdrawn", id });
    }
  } catch (error) {
    refused(error);
  }
}

/** Gives the agent a tool that nobody calls. The next process has the first agent again. */
async function reconfigure(talk: Session): Promise<void> {
  const { tools = {} } = crashAgent({ works: plan.works });
  const idle = tool({ inputSchema: z.object({}), execute: () => 0 });
  try {
    await talk.configure({ tools: { ...tools, idle } });
  } catch (error) {
    refused(error);
  }
}

/** Says something and takes it back, if it is not too late. */
async function change(talk: Session): Promise<void> {
  const { id, sending } = say(talk, "follow-up");
  await sending;
  try {
    await talk.withdraw(id, "changed my mind");
    tell({ told: "withdrawn", id });
  } catch (error) {
    refused(error);
  }
}

function refused(error: unknown): void {
  if (!TurnlogError.isInstance(error)) throw error;
  if (error.code !== "COMMAND_REFUSED" && error.code !== "APPROVAL_ANSWERED") throw error;
}
