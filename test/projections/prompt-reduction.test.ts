/** A conversation that a provider refused goes as plain text, or not at all; what was said last goes as it was. */

import { expect, it } from "vitest";
import { promptMessages } from "../../src/projections/prompt.ts";
import { Session } from "../context/session.ts";

function prompt({ history, view }: Session): readonly (readonly [string, string])[] {
  return promptMessages(history, view).map(({ role, content }) => [
    role,
    typeof content === "string" ? content : JSON.stringify(content),
  ]);
}

function answered(): Session {
  const session = new Session();
  session.ask("First.");
  session.start();
  session.say("Done.");
  session.finish();
  session.end();
  session.ask("Second.");
  session.work("found");
  return session;
}

function reduce(session: Session, rung: "as-text" | "newest-only"): void {
  session.start();
  const { step, position } = session;
  session.record({ type: "context.reduced", data: { step, rung, to: position } });
}

const asText =
  "[The conversation so far, as plain text: the provider refused it in its own form.]\n\nUser: First.\n\nAssistant: Done.";

it("leaves the newest message as it is, between what came before and what was done since", () => {
  const session = answered();
  reduce(session, "as-text");
  expect(prompt(session)).toEqual([
    ["user", asText],
    ["user", "Second."],
    [
      "user",
      '[What you did after the message above, as plain text: the provider refused it in its own form. Go on from there.]\n\nAssistant called read with {"path":"a"}\n\nResult of read: found',
    ],
  ]);
});

it("sends what comes afterwards in its own form", () => {
  const session = answered();
  reduce(session, "as-text");
  session.finish();
  session.start();
  session.say("All found.");
  session.finish();
  session.end();
  session.ask("Third.");
  expect(prompt(session).map(([role]) => role)).toEqual([
    "user",
    "user",
    "user",
    "assistant",
    "user",
  ]);
  expect(prompt(session).at(-1)).toEqual(["user", "Third."]);
});

it("leaves all but the newest message out, and says so", () => {
  const session = answered();
  reduce(session, "newest-only");
  const sent = prompt(session);
  expect(sent[0]?.[1]).toMatch(/^\[The conversation so far is left out/u);
  expect(sent[1]).toEqual(["user", "Second."]);
  expect(sent[2]?.[1]).toMatch(/^\[What you did after the message above is left out/u);
  expect(sent).toHaveLength(3);
});

it("turns a summary of before into text, and sends one that was written since", () => {
  const session = answered();
  const covers = { from: 1, to: 8 };
  const compact = (summary: string): void =>
    session.record({
      type: "context.compacted",
      data: { strategy: "own", covers, summary, beforeTokens: 9, afterTokens: 1 },
    });
  const before = session.mark();
  compact("What was.");
  reduce(session, "newest-only");
  expect(JSON.stringify(prompt(session))).not.toContain("What was.");
  session.back(before);
  reduce(session, "newest-only");
  compact("What was.");
  expect(JSON.stringify(prompt(session))).toContain("What was.");
});

it.each([
  ["invalid-request", false],
  ["unknown", false],
  ["overloaded", true],
] as const)("was in vain if the step fails as %s: it is kept: %s", (kind, isKept) => {
  const session = answered();
  reduce(session, "newest-only");
  const error = { name: "Error", message: "No." };
  const usage = { basis: "estimated", inputTokens: 1, outputTokens: 0 } as const;
  session.record({ type: "step.failed", data: { step: session.step, kind, error, usage } });
  expect(JSON.stringify(prompt(session)).includes("First.")).toBe(!isKept);
});

it("makes the text once, so that later prompts share it", () => {
  const session = answered();
  reduce(session, "as-text");
  const [first] = promptMessages(session.history, session.view);
  session.finish();
  session.ask("Third.");
  expect(promptMessages(session.history, session.view)[0]).toBe(first);
});
