/** Brings a session on a stage to its end in the plainest way, and looks at all that it left. */

import { isDeepStrictEqual } from "node:util";
import type { EventMap, SessionEvent } from "../../src/events/index.ts";
import { viewSession } from "../../src/state/index.ts";
import { callRecords } from "../support/call-problems.ts";
import { lawProblems } from "../support/law-problems.ts";
import { outputProblems } from "../support/output-problems.ts";
import { storedEvents } from "../support/replay.ts";
import { plainMove, provoke, type Manner } from "./acts.ts";
import type { Move } from "./moves.ts";
import { callKey, runningCalls } from "./situation.ts";
import { SESSION } from "./process.ts";
import type { Stage } from "./stage.ts";

/** Lets the session go on until it is idle or closed, whatever it takes. */
export async function goOnToTheEnd(stage: Stage): Promise<void> {
  if (stage.isAlive) stage.process.log.kill(Number.POSITIVE_INFINITY);
  else await stage.start("stop");
  await stage.rest();
  for (let move = plainMove(stage.situation); move !== undefined;) {
    await make(stage, move);
    move = plainMove(stage.situation);
  }
  const { asked } = stage.process;
  await stage.until(`answers to: ${[...asked].join(", ")}`, () => asked.size === 0);
  await stage.until("the results of its turns", () => stage.resultsOwed().length === 0);
  const live = await stage.session.view();
  const read = await viewSession(stage.store.log, SESSION);
  await endProcess(stage);
  stage.problems.push(
    ...(same(live, read) ? [] : ["The live session is not what its log says."]),
    ...(await storyProblems(stage)),
  );
  stage.complain();
}

/** Closes the runtime, ending every tool that it waits for. */
export async function endProcess(stage: Stage): Promise<void> {
  const { runtime, tools } = stage.process;
  stage.process.closing = true;
  const closed = { done: false };
  void runtime.close().then(() => (closed.done = true));
  await stage.until("the runtime closes", () => {
    for (const callId of runningCalls(stage.situation)) {
      const key = callKey(stage.situation, callId);
      if (tools.isRunning(key)) tools.end(key);
    }
    return closed.done || !stage.isAlive;
  });
}

/** Provokes a move and waits until it has come, and with it all that follows by itself. */
export async function make(stage: Stage, move: Move, manner?: Manner): Promise<void> {
  const before = stage.situations.length;
  provoke(stage, move, manner);
  await stage.until(move.type, () => stage.situations.length > before || !stage.isAlive);
  await stage.rest();
}

/** Everything that is wrong with what was stored and with what was done. */
async function storyProblems(stage: Stage): Promise<readonly string[]> {
  const stored = await storedEvents(stage.store.log, SESSION);
  const records = callRecords(stored);
  const keys = [...new Set(records.map(({ step, callId }) => `${step}/${callId}`))];
  const calls = keys.map((key) => {
    const same = records.filter(({ step, callId }) => `${step}/${callId}` === key);
    return {
      key,
      // Only these may be run again, by a process that recovers from the death of another.
      again: same.some(({ call: { data } }) => /repeatable|doubtful/.test(data.toolName)),
      started: same.flatMap(({ started }) => started).length,
      runs: stage.runs.filter((run) => run === key).length,
    };
  });
  return [
    // What another release may write is not bound to the order in which this one does.
    ...lawProblems(stored).filter(
      (problem) => !stage.foreign.some((position) => problem.startsWith(`${position} `)),
    ),
    ...(same(stored, stage.store.events) ? [] : ["What is stored is not what was recorded."]),
    ...calls.flatMap(({ key, runs, again }) =>
      runs > 1 && !again ? [`The tool of ${key} ran ${runs} times.`] : [],
    ),
    ...calls.flatMap(({ key, runs, started }) =>
      runs > started
        ? [`The tool of ${key} ran ${runs} times, and the log knows of ${started}.`]
        : [],
    ),
    ...recoveryProblems(stored),
    ...(stage.world.output ? outputProblems(stored, isOutputOf) : []),
  ];
}

/** What a recovery says was unfinished: every call that had not ended, under what had become of it. */
function recoveryProblems(events: readonly SessionEvent[]): readonly string[] {
  return events.flatMap((event, index) => {
    if (event.type !== "session.recovered" || event.data.inFlight.kind !== "tools") return [];
    const { inFlight } = event.data;
    const open = callRecords(events.slice(0, index)).filter(({ ends }) => ends.length === 0);
    const ids = (wanted: boolean): string =>
      open.flatMap(({ callId, started }) => (started.length > 0 === wanted ? [callId] : [])).join();
    return ids(true) === inFlight.started.join() && ids(false) === inFlight.waiting.join()
      ? []
      : [`${event.position}: the recovery forgets calls: ${JSON.stringify(inFlight)}`];
  });
}

/** The output of a turn is its last reply as JSON, or why it is not valid, whichever process read it. */
function isOutputOf({ reason, output }: EventMap["turn.ended"], text: string): boolean {
  const isReply = reason === "stop" || reason === "length" || reason === "content-filter";
  const isWanted = isReply && (reason === "stop" || text !== "");
  const wanted = isWanted ? jsonOf(text) : undefined;
  return wanted === "none" ? output?.error !== undefined : same({ output }, { output: wanted });
}

function jsonOf(text: string): { readonly value: unknown } | "none" {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return "none";
  }
}

/** As JSON, whatever the order of its keys. */
function same(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other)));
}
