/** What the page shows of a long log before it has all of it: whole turns, as they are in the whole log. */

import { expect, it } from "vitest";
import type { SessionEvent } from "../../src/events/index.ts";
import { usage } from "../../src/projections/index.ts";
import { figuresOf, wholeTurns } from "../../src/server/studio/figures.ts";
import { initialSessionState, type SessionState } from "../../src/state/index.ts";
import { threadOf } from "../../studio/src/chat/thread.ts";
import { readUIMessages, uiMessages } from "../../src/ui/index.ts";
import { fixtureNames, readFixture } from "../laws/session-fixture.ts";

const thread = (events: readonly SessionEvent[]) => {
  const { initial, fold } = uiMessages({ session: "s" });
  return threadOf(readUIMessages(events.reduce(fold, initial))).map(({ message }) => message);
};

it.each(fixtureNames)("the last turns of %s show the last messages of its branch", async (name) => {
  const events = await readFixture(name);
  const all = thread(events);
  for (let from = 0; from < events.length; from++) {
    const messages = thread(wholeTurns(events.slice(from)));
    expect(messages, `from ${from}`).toEqual(all.slice(all.length - messages.length));
  }
});

it("half of a long talk shows its last turns", async () => {
  const events = await readFixture("long-talk");
  expect(thread(wholeTurns(events.slice(events.length / 2))).length).toBeGreaterThan(1);
});

it("the window beside them is that of the model of the step that runs", async () => {
  const running = (modelId: string): SessionState => {
    const model = { provider: "anthropic", modelId };
    const step = { turn: 1, step: 1, model, estimate: { tokens: 1, basis: "length" } } as const;
    return { ...initialSessionState, usage: { ...usage.initial, running: step } };
  };
  expect(await figuresOf(running("claude-sonnet-4-5"))).toMatchObject({ window: 200_000 });
  expect(await figuresOf(running("unknown"))).not.toHaveProperty("window");
});
