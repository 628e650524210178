/** The lines about another model that takes over, in a terminal. */

import { expect, it } from "vitest";
import { EventLines } from "../../src/cli/wording/event-lines.ts";
import type { FailoverReason } from "../../src/events/index.ts";

const from = { provider: "one", modelId: "m" };
const to = { provider: "two", modelId: "n" };

it.each<[FailoverReason, string]>([
  ["overloaded", "one:m has failed: two:n takes over for the rest of the turn."],
  [
    "circuit-open",
    "one:m failed several times in a row and is not called now: two:n takes over for the rest of the turn.",
  ],
  [
    "not-in-agent",
    "one:m took over before, but the agent has it no longer: two:n takes over for the rest of the turn.",
  ],
])("%s is told in a sentence", (why, words) => {
  const lines = new EventLines().take({
    position: 1,
    time: 0,
    type: "step.failed-over",
    data: { step: 1, from, to, why },
  });
  expect(lines.map(({ text }) => text)).toEqual([words]);
});

it("a retry without a wait names none", () => {
  const error = { name: "Error", message: "Busy" };
  const [line] = new EventLines().take({
    position: 1,
    time: 0,
    type: "step.retrying",
    data: { step: 1, attempt: 2, delayMs: 0, kind: "overloaded", error },
  });
  expect(line?.text).toBe("The provider is overloaded: Busy. Trying again (attempt 3).");
});
