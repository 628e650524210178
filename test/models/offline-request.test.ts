/** Which English the offline model understands, and as what. */
import { describe, expect, it } from "vitest";
import { requestsIn, type OfflineRequest } from "../../src/models/offline-request.ts";

function search(
  query: string,
  more: { path?: string; pattern?: string; regex?: boolean } = {},
): OfflineRequest {
  return { kind: "search", query, regex: false, ...more };
}

const understood: readonly (readonly [string, ...OfflineRequest[]])[] = [
  ["which files mention zod?", search("zod")],
  ["Which files in src contain 'use strict'?", search("use strict", { path: "src" })],
  ["which typescript files import zod", search("zod", { pattern: "**/*.ts" })],
  ["which markdown files in docs mention zod", search("zod", { path: "docs", pattern: "**/*.md" })],
  ["Search for the word foo bar in the src folder.", search("foo bar", { path: "src" })],
  ['search for "in src"', search("in src")],
  ["search for foo* in *.ts", search("foo*", { pattern: "*.ts" })],
  ["search for /import .* from/ in src", search("import .* from", { path: "src", regex: true })],
  ["grep foo in src", search("foo", { path: "src" })],
  ["where is createRuntime used in src?", search("createRuntime", { path: "src" })],
  ["what uses zod?", search("zod")],
  ["find zod", search("zod")],

  ["list files", { kind: "list", path: ".", recursive: false }],
  [
    "can you please list the files in the src directory?",
    { kind: "list", path: "src", recursive: false },
  ],
  ["what's in src", { kind: "list", path: "src", recursive: false }],
  ["show me all files", { kind: "list", path: ".", recursive: true }],
  ["List all TypeScript files.", { kind: "list", path: ".", pattern: "**/*.ts", recursive: true }],

  ["read package.json", { kind: "read", path: "package.json" }],
  ["please show me the contents of src/a.ts", { kind: "read", path: "src/a.ts" }],
  ["What does package.json say?", { kind: "read", path: "package.json" }],
  ['open "my notes.txt"', { kind: "read", path: "my notes.txt" }],
  ["open the second file", { kind: "read-found", which: 1 }],

  ["how many files are there?", { kind: "list", path: ".", recursive: true }],
  [
    "how many ts files are in src",
    { kind: "list", path: "src", pattern: "**/*.ts", recursive: true },
  ],
  ["how many files mention zod?", search("zod")],
  ["how many lines does package.json have?", { kind: "read", path: "package.json" }],

  ["what does this project do?", { kind: "project" }],
  ["What is this repository about?", { kind: "project" }],
  ["Can you explain the project?", { kind: "project" }],

  ['write "list; read" to a.txt', { kind: "write", path: "a.txt", text: "list; read" }],
  [
    "create a file notes.md with hello there",
    { kind: "write", path: "notes.md", text: "hello there" },
  ],
  ["what did you do?", { kind: "explain" }],
  ["Hello!", { kind: "help" }],
  ["hey there", { kind: "help" }],
  ["Hi, could you tell me what you can do?", { kind: "help" }],

  [
    "Find files that mention zod, then read the first one",
    search("zod"),
    { kind: "read-found", which: 0 },
  ],
  ["read a.txt. Read b.txt", { kind: "read", path: "a.txt" }, { kind: "read", path: "b.txt" }],
];

describe("the offline model's English", () => {
  it.each(understood.map(([words, ...requests]) => ({ words, requests })))(
    "understands: $words",
    ({ words, requests }) => {
      expect(requestsIn(words)).toEqual(requests);
    },
  );

  it.each([
    "sing a song",
    "write a poem",
    "delete everything",
    "explain src/a.ts",
    "What is the capital of France?",
  ])("does not pretend to understand: %s", (words) => {
    expect(requestsIn(words).map((request) => request.kind)).toEqual(["unknown"]);
  });

  it("finds no request in silence, and one it does not understand in a page of text", () => {
    expect(requestsIn(" \n ?! ")).toEqual([]);
    expect(requestsIn(`read ${"a".repeat(100_000)}`).map((request) => request.kind)).toEqual([
      "unknown",
    ]);
  });
});
