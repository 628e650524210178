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
  ["search for foo* in *.ts files", search("foo*", { pattern: "*.ts" })],
  ["search for /import .* from/ in src", search("import .* from", { path: "src", regex: true })],
  ["look in src for foo", search("foo", { path: "src" })],
  ["grep foo src", search("foo", { path: "src" })],
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
  ["find package.json", { kind: "list", path: ".", pattern: "**/package.json", recursive: true }],

  ["read package.json", { kind: "read", path: "package.json", range: {} }],
  ["please show me the contents of src/a.ts", { kind: "read", path: "src/a.ts", range: {} }],
  ["What does package.json say?", { kind: "read", path: "package.json", range: {} }],
  ['open "my notes.txt"', { kind: "read", path: "my notes.txt", range: {} }],
  [
    "read lines 10-20 of a.ts",
    { kind: "read", path: "a.ts", range: { startLine: 10, endLine: 20 } },
  ],
  [
    "read lines 10 to 20 of a.ts",
    { kind: "read", path: "a.ts", range: { startLine: 10, endLine: 20 } },
  ],
  [
    "show the first 5 lines of LICENSE",
    { kind: "read", path: "LICENSE", range: { startLine: 1, endLine: 5 } },
  ],
  ["open the second file", { kind: "read-found", which: 1 }],

  ["how many files are there?", { kind: "count-files", path: "." }],
  ["how many ts files are in src", { kind: "count-files", path: "src", pattern: "**/*.ts" }],
  ["how many files mention zod?", { kind: "count-matches", query: "zod", regex: false }],
  [
    "how often is zod used in src?",
    { kind: "count-matches", query: "zod", regex: false, path: "src" },
  ],
  [
    "count occurrences of foo in markdown files",
    { kind: "count-matches", query: "foo", regex: false, pattern: "**/*.md" },
  ],
  ["how many lines does package.json have?", { kind: "count-lines", path: "package.json" }],
  ["how long is README.md?", { kind: "count-lines", path: "README.md" }],
  [
    "count the lines of all typescript files",
    { kind: "count-lines", path: ".", pattern: "**/*.ts" },
  ],

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
    "Find files that mention zod, then read the first one and count its lines",
    search("zod"),
    { kind: "read-found", which: 0 },
    { kind: "count-lines-found" },
  ],
  [
    "read a.txt. Read b.txt",
    { kind: "read", path: "a.txt", range: {} },
    { kind: "read", path: "b.txt", range: {} },
  ],
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
