/** The conversation as a summarising model reads it: words, calls and results, and no file. */

import { describe, expect, it } from "vitest";
import { shownUnits } from "../../src/context/compaction/shown-units.ts";
import { unitText } from "../../src/context/compaction/summarize.ts";
import type { EventBody } from "../../src/events/index.ts";
import { Session } from "./session.ts";

function textOf({ history, view }: Session, capped = false): string {
  return shownUnits(history, view)
    .map((unit) => unitText(unit, view, capped))
    .filter((text) => text !== "")
    .join("\n---\n");
}

const key = (callId: string) => ({ step: 1, callId });
const error = { name: "Error", message: "No such file." };

/** A step with calls that end, or do not. */
function called(...ends: readonly (EventBody | undefined)[]): Session {
  const session = new Session();
  session.ask("Go.");
  session.start();
  for (const index of ends.keys()) session.call(`c${index}`);
  session.finish({}, "tool-calls");
  for (const end of ends) if (end !== undefined) session.record(end);
  session.end();
  return session;
}

describe("a step", () => {
  it("has its words, its calls and their results in the order of its parts", () => {
    const session = new Session();
    session.ask([
      { type: "text", text: "See." },
      { type: "file", data: "A", mediaType: "image/x" },
    ]);
    session.start();
    session.think("Hm.");
    session.say("I look.");
    session.say(" ");
    session.ownCall("p");
    session.ownResult("p");
    session.record({ type: "part.file", data: { data: "AA==", mediaType: "image/png" } });
    session.record({ type: "part.error", data: { error } });
    session.call("c0");
    session.finish({}, "tool-calls");
    session.answer("c0", "found");
    session.end();
    expect(textOf(session)).toBe(
      [
        "USER: See.\n[file: image/x]",
        "---",
        "ASSISTANT: I look.",
        'CALL of search: {"query":"a"}',
        'RESULT of search: {"found":1}',
        "ASSISTANT: [file: image/png]",
        'CALL of read: {"path":"a"}',
        "RESULT: found",
      ].join("\n"),
    );
  });

  it("says how each call ended", () => {
    const session = called(
      { type: "tool.failed", data: { ...key("c0"), error } },
      { type: "tool.denied", data: { ...key("c1"), reason: "Too dear." } },
      { type: "tool.denied", data: key("c2") },
      { type: "tool.skipped", data: { ...key("c3"), reason: "cancelled" } },
      undefined,
    );
    const results = [...textOf(session).matchAll(/^RESULT: (.*)$/gm)].map(([, text]) => text);
    expect(results).toEqual([
      "failed: No such file.",
      "denied: Too dear.",
      "denied",
      "skipped",
      "waiting",
    ]);
  });

  it("has what the model was shown of a result, and that it was cleared", () => {
    const succeeded = (callId: string, modelOutput?: object): EventBody => ({
      type: "tool.succeeded",
      data: { ...key(callId), output: { whole: 1 }, ...(modelOutput && { modelOutput }) } as never,
    });
    const session = called(
      succeeded("c0"),
      succeeded("c1", { type: "text", value: "brief" }),
      succeeded("c2", { type: "execution-denied", reason: "no" }),
      succeeded("c3"),
    );
    session.record({ type: "context.pruned", data: { calls: [key("c3")], savedTokens: 1 } });
    const results = [...textOf(session).matchAll(/^RESULT: (.*)$/gm)].map(([, text]) => text);
    expect(results).toEqual([
      '{"whole":1}',
      "brief",
      '{"type":"execution-denied","reason":"no"}',
      "[cleared]",
    ]);
  });
});

describe("long parts", () => {
  const long = Array.from({ length: 1000 }, (_, index) => `w${index}`).join(" ");

  it("are whole, or cut to the first three quarters and the last quarter of 2,000 characters", () => {
    const session = new Session();
    session.ask(long);
    expect(textOf(session)).toBe(`USER: ${long}`);
    expect(textOf(session, true)).toBe(
      `USER: ${long.slice(0, 1500)}\n[${long.length - 2000} characters left out]\n${long.slice(-500)}`,
    );
    const whole = new Session();
    whole.ask("word ".repeat(400));
    expect(textOf(whole, true)).toBe(`USER: ${"word ".repeat(400)}`);
  });

  it("that are the content of a file are only counted, alone, in a text and in JSON", () => {
    const data = "iVBORw0KGgo".repeat(100);
    const answered = (output: string): string => {
      const session = new Session();
      session.ask("Go.");
      session.work(output);
      session.end();
      return textOf(session).replace(/[\s\S]*RESULT: /, "");
    };
    expect(answered(data)).toBe("[1100 characters of data]");
    expect(answered("x".repeat(1000))).toBe("x".repeat(1000));
    expect(answered("ä".repeat(1001))).toBe("[1001 characters of data]");
    expect(answered(`See ${data} there.`)).toBe("See [1100 characters of data] there.");
    expect(answered(`See ${"x".repeat(1000)} there.`)).toContain("xxx there.");
    const session = called({
      type: "tool.succeeded",
      data: { ...key("c0"), output: { name: "a", data } },
    });
    expect(textOf(session)).toContain('RESULT: {"name":"a","data":"[1100 characters of data]"}');
  });
});
