/** Replays of compactions that somebody asked for: of a model that wrote nothing the log has only what came of it. */

import { expect, it } from "vitest";
import { manual, summarize, type Agent } from "../../src/public/index.ts";
import { differenceText } from "../../src/replay/replay-difference.ts";
import { replay } from "../../src/replay/replay.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { ask } from "../support/asking.ts";
import { openSession } from "../support/with-runtime.ts";

it.each([
  ["all of its rungs", 300],
  ["its first rungs", 2000],
])("one whose window had no room for %s has none again", async (_, contextWindow) => {
  const agent: Agent = {
    model: scriptedModel(() => "word ".repeat(400)),
    context: {
      limits: { "turnlog:scripted": { contextWindow, maxOutputTokens: 100 } },
      compact: { when: manual(), how: summarize({ keepTokens: 100 }) },
    },
  };
  await using open = await openSession(agent);
  for (const question of ["One?", "Two?", "Three?", "Four?", "Five?"]) {
    await ask(open.session, question);
  }
  await open.session.compact();
  const events = await open.events();
  const rejected = events.filter(({ type }) => type === "context.summary-rejected");
  expect(rejected[0]?.data).toMatchObject({ rung: "whole", why: "no-room" });
  const { difference } = await replay(events, agent);
  expect(difference && differenceText(difference)).toBeUndefined();
});

it("one whose model reported an error within its reply is billed for it again", async () => {
  const agent: Agent = {
    model: scriptedModel(["One. ".repeat(200), "Two. ".repeat(200)]),
    context: {
      compact: {
        when: manual(),
        how: summarize({
          keepTokens: 10,
          model: scriptedModel([
            {
              parts: [
                { type: "text", deltas: ["Well"] },
                { type: "error", error: new Error("in stream") },
              ],
            },
          ]),
        }),
      },
    },
  };
  await using open = await openSession(agent);
  for (const question of ["One?", "Two?"]) await ask(open.session, question);
  await open.session.compact();
  const events = await open.events();
  const rejected = events.find(({ type }) => type === "context.summary-rejected");
  expect(rejected?.data).toMatchObject({ why: "failed", usage: { basis: "measured" } });
  const { difference } = await replay(events, agent);
  expect(difference && differenceText(difference)).toBeUndefined();
});
