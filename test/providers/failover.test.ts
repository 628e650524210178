/**
 * Every provider takes over from every other one, live and through the real clients: at the first step, in a turn that
 * waited for an approval, and after a reply that broke off. No request is refused. `npm test` takes a sample.
 */

import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { long, sampled } from "../support/runs.ts";
import { openSession } from "../support/with-runtime.ts";
import { fakeProvider, providerNames, type Answer } from "./index.ts";

const pairs = providerNames.flatMap((first, index) =>
  providerNames.flatMap((second, place) =>
    first === second ? [] : [{ first, second, source: (index + place) % 2 }],
  ),
);
const sources = ["language-model-call", "stream-text"] as const;

const down: Answer = { status: 503, body: { error: { message: "Overloaded" } } };
const thinking = { thinking: ["Let me ", "think."] };
const calling: Answer = {
  parts: [thinking, { text: "I look." }, { call: { name: "look", input: { at: "it" } } }],
};
const half: Answer = { parts: [thinking, { text: ["Half of ", "a sen"] }], ending: "error" };
const rest: Answer = { parts: [thinking, { text: "tence." }] };

// A long run takes all of them.
it.each(long ? pairs : sampled(pairs, 28))(
  "$second takes over from $first",
  async ({ first, second, source }) => {
    await using one = await fakeProvider(first, {
      answers: [calling, down, down, calling, half, half],
    });
    await using two = await fakeProvider(second, { answers: [calling, rest, rest] });
    await using open = await openSession(
      {
        model: one.model,
        fallback: [two.model],
        continueOn: "partial",
        toolApproval: { look: "user-approval" },
        tools: {
          look: tool({
            inputSchema: z.object({ at: z.string() }),
            execute: () => "seen",
          }),
        },
      },
      { stepSource: sources[source] ?? "stream-text" },
    );
    const ask = async (message: string): Promise<string> => {
      const turn = await open.session.send(message);
      for (
        let rests = await turn.untilRest();
        rests.kind === "waiting";
        rests = await turn.untilRest()
      )
        for (const { approvalId } of rests.approvals) await open.session.approve(approvalId);
      return (await turn.result).text;
    };
    // The first calls; after the approval it is down, and the second calls and says the rest.
    expect(await ask("Look.")).toBe("tence.");
    // The first continues from what the second has said. Its next reply breaks off twice.
    expect(await ask("And now?")).toBe("Half of a sentence.");
    const refused = [...one.requests, ...two.requests].flatMap(({ breaches }) => breaches);
    expect(refused).toEqual([]);
    expect([one.requests.length, two.requests.length]).toEqual([6, 3]);
    const moves = (await open.events()).filter(({ type }) => type === "step.failed-over");
    expect(moves).toHaveLength(2);
  },
);
