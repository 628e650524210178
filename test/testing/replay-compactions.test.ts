/** Replays of compactions that somebody asked for: of a model that wrote nothing the log has only what came of it. */

import { expect, it } from "vitest";
import { manual, summarize, type Agent } from "../../src/index.ts";
import { differenceText, replay, scriptedModel } from "../../src/testing/index.ts";
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
