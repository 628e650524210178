/** The end of live sessions with their runtime. */

import { isAtRest, isIdle } from "../../state/index.ts";
import { settledWithin, type Background } from "../../shared/index.ts";
import { runningChildren } from "./abandoned-turns.ts";
import { release } from "./claims.ts";
import type { LiveSession } from "./live-session.ts";
import { closed } from "../api/runtime.ts";

interface Stopping {
  /** Whether running turns are left to the next process. Undefined: where another process may go on with them. */
  readonly leaves: boolean | undefined;
  readonly graceMs: number;
  readonly background: Background;
  /** Called when all events of a session are stored. */
  readonly onStopped: (live: LiveSession) => void;
}

/**
 * Ends live sessions with their runtime. Turns for the next process are left as a kill leaves them; others are
 * cancelled, with those of their sub-agents.
 */
export async function stopAll(
  live: readonly LiveSession[],
  { leaves, graceMs, background, onStopped }: Stopping,
): Promise<readonly PromiseSettledResult<void>[]> {
  const running = live.filter(({ actor }) => !isAtRest(actor.state));
  const left = running.filter(({ claim }) => leaves ?? claim.epoch !== undefined);
  // All at once: none of them may see another one end.
  for (const { actor } of left) actor.lose(closed(actor.session));
  const cancelled = running.filter((one) => !left.includes(one));
  const called = new Set(cancelled.flatMap(({ actor }) => runningChildren(actor.state)));
  return await Promise.allSettled(
    live.map(async (one) => {
      await stop(one, { graceMs, background, isCalled: called.has(one.actor.session) });
      onStopped(one);
    }),
  );
}

/** @param isCalled - A call waits for the session that is cancelled: its turn ends too, though it waits for people. */
async function stop(
  { actor, claim, watchers, idleTimer }: LiveSession,
  {
    graceMs,
    background,
    isCalled,
  }: Pick<Stopping, "graceMs" | "background"> & { readonly isCalled: boolean },
): Promise<void> {
  const why = closed(actor.session);
  const isOver = (): boolean => (isCalled ? isIdle(actor.state) : isAtRest(actor.state));
  while (!isOver() && actor.ended === undefined) {
    const { turn, stopping, skipCalls } = actor.state.machine.context;
    if (stopping === undefined || !skipCalls) {
      actor.record({
        type: "turn.cancel-requested",
        data: { turn, reason: "the runtime was closed" },
      });
    }
    // A failure ends the wait: then there is nothing left to stop.
    await watchers.watch(actor, () => isOver() || undefined).catch(() => {});
  }
  idleTimer?.[Symbol.dispose]();
  if (actor.failure === undefined) actor.closeChain();
  actor.passivate(why);
  if (actor.failure === undefined) await actor.durable();
  await actor.settled();
  // A callback that never answers must not hold the runtime.
  await settledWithin(graceMs, actor.callbacks);
  await release(actor, claim, background);
  // Watchers of an approval that may come after a restart must not hang.
  watchers.fail(why);
}
