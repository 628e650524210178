/** A session that was rewound happens again as it was recorded, also without its hash chain. */

import { expect, it } from "vitest";
import { unchained } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { differenceText } from "../../src/replay/replay-difference.ts";
import { replay } from "../../src/replay/replay.ts";
import { ask } from "../support/asking.ts";
import { playBranches } from "../support/branching.ts";
import { lawProblems } from "../support/law-problems.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { echo } from "../runtime/tools.ts";

it("repeats rewinds, checkouts, edits and regenerations", async () => {
  const script = [
    "One.",
    calling(call("echo", "1", { value: "two" })),
    "Two.",
    "Three.",
    "Edited.",
    "Again.",
  ];
  const agent = { model: scriptedModel(script), tools: { echo } };
  await using open = await openSession(agent, { hashChain: true });
  const { session } = open;
  await playBranches(session, { idempotencyKey: "k" });
  await open.runtime.close();
  const events = await open.events();
  expect(events.filter(({ type }) => type === "session.rewound").length).toBe(4);
  expect(lawProblems(unchained(events))).toEqual([]);
  const { difference } = await replay(events, { ...agent, model: scriptedModel([]) });
  expect(difference && differenceText(difference)).toBeUndefined();
  const { difference: allowed } = await replay(
    events,
    { ...agent, model: scriptedModel([]), instructions: "Others." },
    { allow: ["instructions"] },
  );
  expect(allowed && differenceText(allowed)).toBeUndefined();
});

it("repeats what other processes asked for, whose commands gave ids to events", async () => {
  const agent = { model: scriptedModel(["One.", "Edited.", "Again."]) };
  await using open = await openSession(agent);
  const { session } = open;
  await ask(session, "a", "a");
  await (
    await session.send("b", { id: "b", replaces: "a" })
  ).result;
  await (
    await session.regenerate()
  ).result;
  await session.send("later", { id: "later", notBefore: "2100-01-01T00:00:00Z" });
  await session.withdraw("later");
  const asked = new Set(["session.rewound", "message.withdrawn"]);
  const events = (await open.events()).map((event) =>
    asked.has(event.type) ? { ...event, id: `turnlog.command:${event.position}` } : event,
  );
  expect(events.filter(({ id }) => id !== undefined).length).toBe(3);
  const { difference } = await replay(events, { model: scriptedModel([]) });
  expect(difference && differenceText(difference)).toBeUndefined();
});

it("repeats an edit with the delivery that it was sent with", async () => {
  const agent = { model: scriptedModel(["One.", "Edited."]) };
  await using open = await openSession(agent);
  await ask(open.session, "a", "a");
  const edit = await open.session.send("b", { replaces: "a", delivery: "steer" });
  await edit.result;
  const events = await open.events();
  expect(
    events.flatMap(({ type, data }) => (type === "message.queued" ? [data.delivery] : [])),
  ).toEqual(["follow-up", "steer"]);
  const { difference } = await replay(events, { model: scriptedModel([]) });
  expect(difference && differenceText(difference)).toBeUndefined();
});

it("repeats who sent, edited, regenerated, withdrew and took back", async () => {
  const agent = { model: scriptedModel(["One.", "Two.", "Edited.", "Again."]) };
  await using open = await openSession(agent);
  const { session } = open;
  for (const text of ["first", "second"])
    await (
      await session.send(text, { id: text, by: "ann" })
    ).result;
  await (
    await session.send("edited", { replaces: "second", by: "bob" })
  ).result;
  await (
    await session.regenerate({ by: "cid" })
  ).result;
  await session.send("later", { id: "later", by: "dan", notBefore: "2100-01-01T00:00:00Z" });
  await session.withdraw("later", { by: "eva" });
  await session.rewind({ beforeTurn: 1, by: "fay" });
  await session.checkout(1, { by: "gil" });
  await open.runtime.close();
  const events = await open.events();
  const { difference } = await replay(events, { model: scriptedModel([]) });
  expect(difference && differenceText(difference)).toBeUndefined();
});
