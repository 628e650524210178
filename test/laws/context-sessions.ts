/** Sessions to record in which the model is not shown all that was said: compacted, pruned, too long. */

import {
  overflow,
  slidingWindow,
  summarize,
  tokens,
  type Agent,
  type Session,
} from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { tooLong } from "../support/billing-model.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { summaryOf } from "../support/summarisers.ts";
import { expectFailure, usualTools } from "./recording-parts.ts";
import type { Stage } from "./stage.ts";

const tale = "words and more words of a long tale ".repeat(20);
const HOUR = 3_600_000;

async function tell(session: Session, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await (
      await session.send(`Tale ${id}: ${tale}`, { id })
    ).result;
  }
}

function answers(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `Answer ${index + 1}: ${tale.slice(0, 60)}`);
}

/** Compacts by itself; its summaries are written by a model of their own. */
export function summingAgent(
  steps: readonly ScriptedStep[] = [],
  summaries: readonly ScriptedStep[] = [],
): Agent {
  const writer = { ...scriptedModel(summaries), modelId: "writer" };
  const how = summarize({ model: writer, keepTokens: 300 });
  return {
    instructions: "You sum up.",
    model: scriptedModel(steps),
    context: { prune: false, compact: { when: tokens(900), how } },
  };
}

/** By itself, asked for, given up, undone, and cut off by the death of the process. */
export async function compactionSession({ open, die }: Stage): Promise<Session> {
  const [writing, dying] = [gate(), gate()];
  const first = await open(
    summingAgent(answers(8), [
      "  ",
      summaryOf(["FACT-one"]),
      saying("## Goal\n", writing),
      saying("## Goal\n", dying),
    ]),
  );
  await tell(first, "m1", "m2", "m3", "m4", "m5", "m6", "m7");
  const asked = await first.compact(slidingWindow({ tokens: 250 }));
  await first.restore(asked.position);
  const from = (await first.view()).position;
  const given = first.compact();
  await writing.reached;
  await first.cancel({ reason: "not now" });
  await given;
  await first.send(`Tale m8: ${tale}`, { id: "m8" });
  await seen(first, "context.compaction-started", ({ trigger }) => trigger === "limit", from);
  await dying.reached;
  die();
  const second = await open(
    summingAgent(answers(2), [summaryOf(["FACT-one", "FACT-two"])]),
    "continue",
  );
  await second.idle();
  return second;
}

/** Old results of tools give way once the provider's cache is cold. */
export function pruningAgent(steps: readonly ScriptedStep[] = []): Agent {
  return {
    instructions: "You look things up.",
    model: scriptedModel(steps),
    tools: usualTools,
    context: { prune: { protectTokens: 300, minimumGain: 250 }, compact: false },
  };
}

export async function pruningSession({ open, pass }: Stage): Promise<Session> {
  const look = (word: string): ScriptedStep => calling(call("lookUp", "same", { word }));
  const words = ["oak", "ash", "elm", "fir"];
  const steps = words.flatMap((word) => [look(word), `I know what ${word} is.`]);
  const session = await open(pruningAgent([...steps, look("yew"), "Done."]));
  for (const word of words) {
    await (
      await session.send(`What is ${word}?`, { id: word })
    ).result;
  }
  pass(HOUR);
  await (
    await session.send("And yew?", { id: "yew" })
  ).result;
  const pruned = await seen(session, "context.pruned");
  await session.restore(pruned.position);
  return session;
}

/** The provider refuses what is too long: compacted, sent once more, and at last given up. */
export function overflowingAgent(steps: readonly ScriptedStep[] = []): Agent {
  return {
    instructions: "You overflow.",
    model: scriptedModel(steps),
    context: { prune: false, compact: { when: overflow(), how: slidingWindow({ tokens: 300 }) } },
  };
}

export async function overflowSession({ open }: Stage): Promise<Session> {
  const refused: ScriptedStep = { failure: tooLong(9000, 8000) };
  const session = await open(
    overflowingAgent([
      ...answers(3),
      refused,
      "Shorter now.",
      ...answers(2),
      refused,
      refused,
      ".",
    ]),
  );
  await tell(session, "m1", "m2", "m3", "m4", "m5", "m6");
  await (await session.send(tale, { id: "m7" })).result.catch(expectFailure);
  await (
    await session.send("Never mind.", { id: "m8" })
  ).result;
  return session;
}
