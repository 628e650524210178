/** What a line means that was typed in a chat. */
import { describe, expect, it } from "vitest";
import { helpLines } from "../../src/cli/chat/line/chat-help.ts";
import { readLine, type ChatLine } from "../../src/cli/chat/line/chat-line.ts";

const answer = (approved: boolean, always: boolean, reason?: string) => ({
  kind: "answer",
  answer: { approved, always, ...(reason === undefined ? {} : { reason }) },
});

/** Why a line is not understood; empty for one that is. */
function wrong(line: ChatLine): string {
  return line.kind === "wrong" ? line.why : "";
}

describe("the values of a form", () => {
  it.each([
    ["seats=2", { seats: 2 }],
    ["seats = 2, name=Ann Lee, quiet=true", { seats: 2, name: "Ann Lee", quiet: true }],
    ['zip="01067", note=left, then right', { zip: "01067", note: "left, then right" }],
  ])("are read from %s, if a call waits", (typed, content) => {
    const line = { kind: "answer", answer: { approved: true, always: false, content } };
    expect(readLine(typed, true)).toEqual(line);
    expect(readLine(typed, false)).toEqual({ kind: "message", text: typed });
  });
});

describe("a line in a chat", () => {
  it.each([
    ["which files?", { kind: "message", text: "which files?" }],
    ["  ", { kind: "nothing" }],
    ["/etc/hosts says?", { kind: "message", text: "/etc/hosts says?" }],
    ["//queue", { kind: "message", text: "/queue" }],
    ["/steer look in src", { kind: "message", text: "look in src", delivery: "steer" }],
    ["/later look in src", { kind: "message", text: "look in src", delivery: "follow-up" }],
    ["/steer 2", { kind: "move", number: 2, delivery: "steer" }],
    ["/later 2", { kind: "move", number: 2, delivery: "follow-up" }],
    ["/withdraw 1, 3 3", { kind: "withdraw", which: [1, 3] }],
    ["/withdraw all", { kind: "withdraw", which: "all" }],
    ["/cancel", { kind: "cancel", mode: "now", withdraw: false }],
    ["/cancel after-tools all", { kind: "cancel", mode: "after-tools", withdraw: true }],
    ["/queue", { kind: "queue" }],
    ["/ask write_file", { kind: "ask", toolName: "write_file" }],
    ["/context", { kind: "context" }],
    ["/compact", { kind: "compact" }],
    ["/compact sliding-window", { kind: "compact", how: "sliding-window" }],
    ["/preview", { kind: "preview" }],
    ["/preview drop-middle", { kind: "preview", how: "drop-middle" }],
    ["/restore", { kind: "restore" }],
    ["/restore 57", { kind: "restore", position: 57 }],
    ["/deliver", { kind: "deliver" }],
    ["/resume", { kind: "sessions" }],
    ["/resume a-b", { kind: "resume", session: "a-b" }],
    ["/new", { kind: "new" }],
    ["/new talk", { kind: "new", name: "talk" }],
    ["/model", { kind: "model" }],
    ["/model openai:a:b", { kind: "model", model: "openai:a:b" }],
    ["/cost", { kind: "cost" }],
    ["/exit", { kind: "quit" }],
    ["/fork", { kind: "fork" }],
    ["/fork other", { kind: "fork", name: "other" }],
    ["/undo", { kind: "undo" }],
    ["/at", { kind: "at" }],
    ["/at 57", { kind: "at", position: 57 }],
    ["/help", { kind: "help" }],
    ["/quit", { kind: "quit" }],
    ["/approve", answer(true, false)],
    ["/always", answer(true, true)],
    ["/deny too risky", answer(false, false, "too risky")],
    ["/never", answer(false, true)],
    ["y", { kind: "message", text: "y" }],
  ])("%j is understood", (typed, meant) => {
    expect(readLine(typed, false)).toEqual(meant);
  });

  it.each([
    "/compact hard",
    "/preview toString",
    "/restore 0",
    "/nope",
    "/ask",
    "/steer",
    "/withdraw",
    "/withdraw x",
    "/cancel soon",
  ])("%j is not, and why is said", (typed) => {
    expect(wrong(readLine(typed, false))).toMatch(/\/\w+/);
  });

  it.each([
    ["y", answer(true, false)],
    ["Yes", answer(true, false)],
    ["n", answer(false, false)],
    ["no, the other file", answer(false, false, "the other file")],
    ["n not now", answer(false, false, "not now")],
    ["a", answer(true, true)],
    ["never: too risky", answer(false, true, "too risky")],
  ])("%j answers an open question", (typed, meant) => {
    expect(readLine(typed, true)).toEqual(meant);
  });

  it.each(["yes but not that file", "always do this", "ok", "yy", "y2", "nothing to say"])(
    "%j does not: nothing runs on words that may have been meant otherwise",
    (typed) => {
      expect(wrong(readLine(typed, true))).toContain("y, n");
    },
  );

  it("has a line in /help for each command", () => {
    const help = helpLines(80).join("\n");
    const names = [
      "queue",
      "steer",
      "later",
      "withdraw",
      "resume",
      "cancel",
      "quit",
      "approve",
      "deny",
      "always",
      "never",
    ];
    for (const name of names) {
      expect(wrong(readLine(`/${name} x`, false))).not.toContain("There is no");
      expect(help).toContain(`/${name}`);
    }
  });
});
