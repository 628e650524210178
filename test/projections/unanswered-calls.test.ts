// Calls that a provider ran and never answered: in the prompt while the result may come and when it came, and
// left out once somebody has spoken behind them.
import type { ModelMessage } from "ai";
import { expect, it } from "vitest";
import { REDACTED } from "../../src/events/index.ts";
import { CUT_OFF_NOTE, itemMessages, promptMessages } from "../../src/projections/prompt.ts";
import { problems } from "../context/next-prompt.ts";
import { Session } from "../context/session.ts";

/** Each message as its role and the ids of its calls and results. */
function outline({ history, view }: Session): readonly string[] {
  return promptMessages(history, view).map((message) =>
    [message.role, ...idsIn(message)].join(" "),
  );
}

function idsIn({ content }: ModelMessage): readonly string[] {
  if (content === CUT_OFF_NOTE) return ["note"];
  if (typeof content === "string") return [];
  return content.flatMap((part) => {
    if (part.type === "tool-call") return [part.toolCallId];
    return part.type === "tool-result" ? [`=${part.toolCallId}`] : [];
  });
}

/** A turn in which the provider pauses: one call has a result, the other has not. */
function paused(): Session {
  const session = new Session();
  session.ask("Search.");
  session.start();
  session.say("Let me look.");
  session.ownCall("one");
  session.ownResult("one");
  session.ownCall("two");
  session.finish();
  return session;
}

/** A step that calls a tool of the provider's, and one of ours, which is answered. */
function besideOurs(): Session {
  const session = new Session();
  session.ask("Search.");
  session.start();
  session.ownCall("two");
  session.call("c");
  session.finish({}, "tool-calls");
  session.answer("c", "found");
  return session;
}

it("is sent back as it is while no message came since", () => {
  const session = paused();
  session.end();
  expect(outline(session)).toEqual(["user", "assistant one =one two"]);
  const step = session.history.items.find(({ kind }) => kind === "step");
  const messages = step === undefined ? [] : itemMessages(step);
  expect(promptMessages(session.history, session.view).at(-1)).toBe(messages[0]);
  expect(outline(besideOurs())).toEqual(["user", "assistant two c", "tool =c"]);
  expect(problems(besideOurs())).toEqual([]);
});

it("is left out once a user speaks, alone", () => {
  const session = paused();
  session.end();
  session.ask("And?");
  expect(outline(session)).toEqual(["user", "assistant one =one", "user"]);
  expect(problems(session)).toEqual([]);
  const before = promptMessages(session.history, session.view);
  session.work("read");
  // The same message each time: it is measured and hashed once.
  expect(promptMessages(session.history, session.view)[1]).toBe(before[1]);
  const steered = besideOurs();
  steered.steer("Also this.");
  expect(outline(steered)).toEqual(["user", "assistant c", "tool =c", "user"]);
  expect(problems(steered)).toEqual([]);
});

it("takes the reasoning before it with it, and a reply that is nothing else", () => {
  const session = new Session();
  session.ask("Search.");
  session.start();
  session.think("Let me see.");
  session.ownCall("two");
  session.finish();
  session.end();
  session.ask("And?");
  expect(outline(session)).toEqual(["user", "user"]);
  expect(problems(session)).toEqual([]);
});

it("stays when its result comes in a later step, whatever was said between", () => {
  const session = besideOurs();
  session.steer("Also this.");
  session.start();
  session.ownResult("two");
  session.say("Done.");
  session.finish();
  session.end();
  session.ask("And?");
  expect(outline(session)).toEqual([
    "user",
    "assistant two c",
    "tool =c",
    "user",
    "assistant =two",
    "user",
  ]);
  expect(problems(session)).toEqual([]);
});

it("is followed at once by the reply that continues with it, and by a note before any other", () => {
  const goesOn = paused();
  goesOn.start();
  goesOn.ownResult("two");
  goesOn.finish();
  expect(outline(goesOn)).toEqual(["user", "assistant one =one two", "assistant =two"]);
  expect(problems(goesOn)).toEqual([]);
  const other = paused();
  other.start();
  other.say("Well.");
  other.finish();
  expect(outline(other)).toEqual(["user", "assistant one =one", "user note", "assistant"]);
  expect(problems(other)).toEqual([]);
});

it("is left out before the note that the reply after it was cut off", () => {
  const session = paused();
  session.start();
  session.record({
    type: "step.failed",
    data: {
      step: session.step,
      kind: "network",
      error: { name: "Error", message: "Gone." },
      usage: { basis: "estimated", inputTokens: 0, outputTokens: 0 },
    },
  });
  expect(outline(session)).toEqual(["user", "assistant one =one", "user note"]);
  expect(problems(session)).toEqual([]);
});

it("is left out when its result is no longer shown: compacted away, redacted, or behind a fork", () => {
  const answered = (output: string | { found: number }): Session => {
    const session = besideOurs();
    session.start();
    session.record({
      type: "part.tool-result",
      data: { toolCallId: "two", toolName: "search", output, providerExecuted: true },
    });
    session.say("Done.");
    session.finish();
    session.end();
    return session;
  };
  const compacted = answered({ found: 1 });
  const last = compacted.history.items.findLast(({ kind }) => kind === "step")?.position ?? 0;
  const mark = compacted.mark();
  compacted.record({
    type: "context.compacted",
    data: {
      strategy: "own",
      covers: { from: last, to: compacted.position },
      summary: "Found.",
      beforeTokens: 9,
      afterTokens: 1,
    },
  });
  expect(outline(compacted)).toEqual(["user", "assistant c", "tool =c", "user"]);
  expect(problems(compacted)).toEqual([]);
  compacted.back(mark);
  expect(outline(compacted)).toEqual(["user", "assistant two c", "tool =c", "assistant =two"]);

  const redacted = answered(REDACTED);
  redacted.ask("And?");
  expect(outline(redacted)).toEqual(["user", "assistant c", "tool =c", "assistant", "user"]);

  // A fork behind the tool's result has nothing of what came after it.
  const fork = besideOurs();
  fork.end();
  fork.ask("And?");
  expect(outline(fork)).toEqual(["user", "assistant c", "tool =c", "user"]);
  expect(problems(fork)).toEqual([]);
});

it("stays while nothing follows but a compaction that says nothing", () => {
  const session = besideOurs();
  session.start();
  session.say("Wait.");
  session.finish();
  session.end();
  const last = session.history.items.findLast(({ kind }) => kind === "step")?.position ?? 0;
  session.record({
    type: "context.compacted",
    data: {
      strategy: "own",
      covers: { from: last, to: session.position },
      summary: "",
      beforeTokens: 9,
      afterTokens: 1,
    },
  });
  expect(outline(session)).toEqual(["user", "assistant two c", "tool =c"]);
});

it("is not confused with a later call with its id", () => {
  const session = besideOurs();
  session.start();
  session.ownCall("two");
  session.call("d");
  session.finish({}, "tool-calls");
  session.answer("d", "found");
  session.start();
  session.ownResult("two");
  session.say("Done.");
  session.finish();
  session.end();
  expect(outline(session)).toEqual([
    "user",
    "assistant c",
    "tool =c",
    "assistant two d",
    "tool =d",
    "assistant =two",
  ]);
});

it("is no longer named by the calls of ours that it made, and one that was answered still is", () => {
  const session = new Session();
  session.ask("Search.");
  session.start();
  session.ownCall("one");
  session.ownResult("one");
  session.ownCall("two");
  const anthropic = { caller: { type: "code_execution_20250825", toolId: "two" }, other: 1 };
  session.record({
    type: "part.tool-call",
    data: { toolCallId: "c", toolName: "read", input: {}, providerMetadata: { anthropic } },
  });
  const answered = { caller: { ...anthropic.caller, toolId: "one" } };
  session.record({
    type: "part.tool-call",
    data: {
      toolCallId: "d",
      toolName: "read",
      input: {},
      providerMetadata: { anthropic: answered },
    },
  });
  session.finish({}, "tool-calls");
  session.answer("c", "found");
  session.answer("d", "found");
  const sent = (): string => JSON.stringify(promptMessages(session.history, session.view));
  expect(sent().match(/"toolId":"two"/g)).toHaveLength(2);
  session.end();
  session.ask("And?");
  expect(sent()).not.toContain('"two"');
  expect(sent()).toContain('"other":1');
  expect(sent().match(/"toolId":"one"/g)).toHaveLength(2);
});
