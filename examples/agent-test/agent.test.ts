/**
 * A test that was made from a session: the agent does again what it did, without a model and without a tool that
 * runs. Changed instructions or tools make it fail, and it says which.
 */

import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { readSessionFile } from "turnlog";
import { replay, sessionMatchers, type SessionMatchers } from "turnlog/testing";
import { agent } from "./agent.ts";

expect.extend(sessionMatchers);
declare module "vitest" {
  interface Matchers<R extends void | Promise<void>, T> extends SessionMatchers {}
}

const fixture = await readFile(new URL("talk.jsonl", import.meta.url), "utf8");
const { events } = await readSessionFile(fixture.split("\n"));

test("the agent searches, asks, and books", async () => {
  expect((await replay(events, agent)).difference).toBeUndefined();
  expect(events).toHaveCalledTools(["search", ["book", { train: "ICE 512" }]]);
});

test("a changed prompt is found, and may be allowed", async () => {
  const edited = { ...agent, instructions: "You book trains." };
  expect(await replay(events, edited)).toHaveProperty("difference.position", 1);
  expect((await replay(events, edited, { allow: ["instructions"] })).difference).toBeUndefined();
});
