/** Law 13 for AG-UI, over recorded sessions and whatever else a session records. */

import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { Choices } from "../laws/choices.ts";
import { ImaginedSession } from "../laws/imagined-session.ts";
import { fixtureNames, readFixture } from "../laws/session-fixture.ts";
import { patience, times } from "../support/runs.ts";
import { expectLaw } from "./law-13.ts";

vi.setConfig({ testTimeout: patience });

describe("the events of a session's runs", () => {
  it.each(fixtureNames)(
    "make its messages and its state, for the recorded session %s",
    async (name) => {
      const events = await readFixture(name);
      expect(await expectLaw(events)).toBeGreaterThan(5);
      expect(await expectLaw(events, ["reasoning", "tool-data", "usage", "model"])).toBeGreaterThan(
        5,
      );
    },
  );

  it("make its messages and its state, whatever a session records", async () => {
    const imagined = fc
      .array(fc.nat({ max: 2 ** 16 }), { maxLength: 600, size: "max" })
      .map((numbers) => new ImaginedSession(new Choices(numbers)).live());
    await fc.assert(
      fc.asyncProperty(imagined, async (events) => {
        await expectLaw(events);
      }),
      { numRuns: times(60), endOnFailure: true },
    );
  });
});
