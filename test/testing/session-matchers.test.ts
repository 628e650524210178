/** The matchers over a session's events, as a user of vitest writes them. */

import { expect, it } from "vitest";
import { sessionMatchers, type SessionMatchers } from "../../src/testing/session-matchers.ts";
import { readFixture } from "../laws/session-fixture.ts";
import { toolAgent } from "../laws/tool-sessions.ts";

declare module "vitest" {
  interface Matchers<R extends void | Promise<void>, T> extends SessionMatchers {}
}

expect.extend(sessionMatchers);

it("toReplay passes for the agent that was recorded, and else says where it is another", async () => {
  const events = await readFixture("tools");
  await expect(events).toReplay(toolAgent());
  await expect(events).not.toReplay({ ...toolAgent(), maxSteps: 7 });
  const wrong = expect(events).toReplay({ ...toolAgent(), maxSteps: 7 });
  await expect(wrong).rejects.toThrow(
    /At position 3 the session was\n.*"maxSteps":50.*\n.*\n.*"maxSteps":7/,
  );
});

it("toHaveCalledTools compares all calls of own tools, by name or with their input", async () => {
  const events = await readFixture("tools");
  const first = events.slice(0, 36);
  const ulm = { city: "Ulm" };
  expect(first).toHaveCalledTools(["weather", "map", "train"]);
  expect(first).toHaveCalledTools([["weather", ulm], "map", ["train", ulm]]);
  expect(first).not.toHaveCalledTools(["map", "weather", "train"]);
  expect(first).not.toHaveCalledTools(["weather", "map"]);
  expect(first).not.toHaveCalledTools([["weather", { city: "Bonn" }], "map", "train"]);
  // The provider's own search in the last step is not one.
  expect(events.slice(85)).toHaveCalledTools([]);
  expect(() => expect(first).toHaveCalledTools(["map"])).toThrow(
    /called like this, and no others:\n.*"map"/,
  );
});
