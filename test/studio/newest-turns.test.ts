/** What the page shows of a long log before it has all of it: whole turns, as they are in the whole log. */

import { expect, it } from "vitest";
import type { SessionEvent } from "../../src/events/index.ts";
import { wholeTurns } from "../../src/server/studio/figures.ts";
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
