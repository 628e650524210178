/** The digest of a prompt: a chain over its messages that anyone can compute again. */

import { createHash } from "node:crypto";
import type { ModelMessage } from "ai";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { nextDigest, promptDigest } from "../../src/projections/index.ts";
import { digestOf } from "../../src/projections/sent-prompt.ts";
import { runs } from "../support/runs.ts";
import { asked, stateOf } from "./session-of.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

/** As a reader would compute it who knows nothing of chains. */
function plainDigest(agent: string, messages: readonly ModelMessage[]): string {
  return messages.reduce((before, message) => sha(before + sha(JSON.stringify(message))), agent);
}

it("is the chain of its messages' hashes, whatever prompts were hashed before", () => {
  const said = fc.constantFrom("one", "two", "three");
  const agents = fc.constantFrom("a", "b");
  /** Each prompt: how much of the last one stays, and what is added to it. */
  const prompts = fc.array(fc.tuple(agents, fc.nat(4), fc.array(said, { maxLength: 3 })), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(prompts, (all) => {
      // The same objects come again in other places, as after a rewind.
      const objects = new Map<string, ModelMessage>();
      const message = (content: string): ModelMessage => {
        const known = objects.get(content) ?? { role: "user", content };
        objects.set(content, known);
        return known;
      };
      let last: readonly ModelMessage[] = [];
      for (const [agent, stays, added] of all) {
        last = [...last.slice(0, stays), ...added.map(message)];
        expect(promptDigest(agent, last)).toBe(plainDigest(agent, last));
      }
    }),
    runs(200),
  );
});

it("of a prompt without messages is the agent's", () => {
  expect(promptDigest("agent", [])).toBe("agent");
});

it("costs only the new messages of a prompt that grew", () => {
  let reads = 0;
  const counted = (content: string): ModelMessage => ({
    role: "user",
    get content() {
      reads += 1;
      return content;
    },
  });
  const first = ["one", "two", "three"].map(counted);
  promptDigest("agent", first);
  expect(reads).toBe(3);
  promptDigest("agent", [...first, counted("four")]);
  expect(reads).toBe(4);
  promptDigest("other", first);
  expect(reads).toBe(4);
});

it("of a step is that of its prompt, under the agent of its `prepareStep` if it has one", () => {
  const { history, view } = stateOf(...asked("Go."));
  const prompt = [{ role: "user", content: "Go." } as const];
  const agent = { agentDigest: "own" };
  expect(nextDigest({ history, view }, agent)).toBe(plainDigest("own", prompt));
  expect(nextDigest({ history, view }, {})).toBe(plainDigest("", prompt));
  const prepared = { ...view, prepared: { step: 1, agentDigest: "of the step" } };
  expect(nextDigest({ history, view: prepared }, agent)).toBe(plainDigest("of the step", prompt));
  const other = { ...view, prepared: { step: 1 } };
  expect(nextDigest({ history, view: other }, agent)).toBe(plainDigest("own", prompt));
  expect(digestOf({ role: "user", content: "Go." })).toBe(sha('{"role":"user","content":"Go."}'));
});
