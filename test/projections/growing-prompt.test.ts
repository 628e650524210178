/** A prompt that is made and digested from the one before it is the same as one that is made anew. */

import { expect, it } from "vitest";
import { LongHistory } from "../../bench/long-history.ts";
import { promptDigest, promptMessages, type HistoryState } from "../../src/projections/index.ts";

/** Without anything that is known of its items. */
function anew(history: HistoryState): HistoryState {
  return structuredClone(history);
}

it("as the session grows", () => {
  const long = new LongHistory();
  for (let length = 1; length < 120; length += 7) {
    long.growTo(length);
    const { history, view } = long.session;
    const [messages, again] = [promptMessages(history, view), promptMessages(anew(history), view)];
    expect(messages).toEqual(again);
    expect(promptDigest("a", messages)).toBe(promptDigest("a", again));
  }
});

it("when an item in its middle was changed, an end taken back, the agent another", () => {
  const long = new LongHistory();
  long.growTo(60);
  const { history, view } = long.session;
  const { items } = history;
  const digestOf = (state: HistoryState, agent = "a"): string =>
    promptDigest(agent, promptMessages(state, view));
  const redacted = items.map((item) =>
    item.kind === "user" && item.turn === 2 ? { ...item, content: "[redacted]" } : item,
  );
  const others = [
    history,
    { ...history, items: redacted },
    { ...history, items: items.slice(0, -5) },
    { ...history, items: [...items.slice(0, -5), ...items.slice(-2)] },
    history,
  ];
  for (const other of others)
    for (const agent of ["a", "b"])
      expect(digestOf(other, agent)).toBe(digestOf(anew(other), agent));
  expect(digestOf({ ...history, items: redacted })).not.toBe(digestOf(history));
});
