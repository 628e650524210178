import { describe, expect, it } from "vitest";
import { meantName } from "../../src/cli/output/error-report.ts";

const names = ["chat", "rerun", "fork", "sessions", "show", "diff", "log", "redact", "gc", "help"];

describe("a name that was meant", () => {
  it.each([
    ["shwo", "show"],
    ["hsow", "show"],
    ["shw", "show"],
    ["showw", "show"],
    ["sesions", "sessions"],
    ["session", "sessions"],
    ["redcat", "redact"],
    ["dif", "diff"],
  ])("is found behind %s: %s", (word, name) => {
    expect(meantName(word, names)).toBe(name);
  });

  it.each([
    "show",
    "how",
    "what",
    "that",
    "go",
    "read",
    "list",
    "hello",
    "bogus",
    "",
    "which files",
  ])("is not made up for %j", (word) => {
    expect(meantName(word, names)).toBeUndefined();
  });
});
