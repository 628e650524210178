/** A session to record in which prompts are counted before they are shortened: they fit, they do not, nobody knows. */

import type { Session } from "../../src/public/index.ts";
import type { CountRequest } from "../../src/agent/index.ts";
import { answers, counter, countingAgent, tale } from "../support/counting-agent.ts";
import { seen } from "../support/seen.ts";
import type { Stage } from "./stage.ts";

async function tell(session: Session, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await (
      await session.send(`Tale ${id}: ${tale}`, { id })
    ).result;
  }
}

const never = (): Promise<never> => new Promise<never>(() => {});

/** What is answered one after the other; the last one is not. */
function clerk(...given: readonly (() => unknown)[]): ReturnType<typeof counter> {
  return counter((_request: CountRequest, index) => (given[index] ?? never)());
}

export async function countSession({ open, die }: Stage): Promise<Session> {
  const busy = (): never => {
    throw new Error("https://provider.test/count answered 503: busy");
  };
  const hanging = Promise.withResolvers<void>();
  const hangs = (): Promise<never> => {
    hanging.resolve();
    return never();
  };
  const first = await open(
    countingAgent(
      clerk(
        () => 700,
        () => 1400,
        busy,
        hangs,
      ),
      answers(10),
    ),
  );
  // Counted and fits, counted and does not, not counted.
  await tell(first, "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10");
  const cancelled = await first.send(`Tale m11: ${tale}`, { id: "m11" });
  await hanging.promise;
  await first.cancel({ reason: "not now" });
  await cancelled.result;
  die();
  const dying = Promise.withResolvers<void>();
  const second = await open(
    countingAgent(
      clerk(() => {
        dying.resolve();
        return never();
      }),
      answers(2),
    ),
  );
  await second.send(`Tale m12: ${tale}`, { id: "m12" });
  await dying.promise;
  await seen(second, "context.compaction-started");
  die();
  const third = await open(
    countingAgent(
      clerk(() => 650),
      answers(2),
    ),
    "continue",
  );
  await third.idle();
  await tell(third, "m13");
  return third;
}
