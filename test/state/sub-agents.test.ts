/** The sub-agents of a session: which calls they run, and what all of them used. */

import { expect, it } from "vitest";
import { openMemoryLog } from "../../src/public/index.ts";
import type { EventBody } from "../../src/events/index.ts";
import { subAgentsOf } from "../../src/state/sub-agents.ts";
import {
  asked,
  called,
  created,
  spent,
  stepFinished,
  stepStarted,
} from "../projections/session-of.ts";

function started(callId: string, child?: string): EventBody {
  const data = { step: 1, callId, toolName: "work", attempt: 1, effectId: callId };
  return { type: "tool.started", data: { ...data, ...(child === undefined ? {} : { child }) } };
}

it("are those of calls that ended and of calls that run, with the usage of all", async () => {
  await using log = await openMemoryLog();
  const append = async (session: string, ...bodies: readonly EventBody[]): Promise<void> => {
    const events = [created, ...asked("Go."), stepStarted(1), ...bodies];
    const timed = events.map((body) => ({ time: 1, ...body }));
    await log.append(session, "none", timed, { origin: "copied" });
  };
  for (const child of ["s/a", "s/b"]) await append(child, stepFinished(1));
  await append(
    "s",
    ...["a", "b", "c", "d"].map((id) => called(id)),
    stepFinished(1, "tool-calls"),
    started("a", "s/a"),
    started("b", "s/b"),
    started("c"),
    // It was deleted.
    started("d", "s/d"),
    { type: "tool.succeeded", data: { step: 1, callId: "a", output: 1 } },
  );
  const { own, total, subAgents } = await subAgentsOf(log, "s", {});
  expect(subAgents.map(({ session, callId, status }) => [session, callId, status])).toEqual([
    ["s/a", "a", "succeeded"],
    ["s/b", "b", "running"],
  ]);
  expect(own).toMatchObject({ inputTokens: spent.inputTokens, outputTokens: spent.outputTokens });
  expect(total).toMatchObject({
    inputTokens: 3 * spent.inputTokens,
    outputTokens: 3 * spent.outputTokens,
  });
});
