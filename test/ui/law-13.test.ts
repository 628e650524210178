/** Law 13: the message that a page reads from the chunks of a turn equals the one of `uiMessages`. */

import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { Choices } from "../laws/choices.ts";
import { ImaginedSession } from "../laws/imagined-session.ts";
import { fixtureNames, readFixture } from "../laws/session-fixture.ts";
import { patience, runs } from "../support/runs.ts";
import { expectLaw } from "./law-13.ts";

vi.setConfig({ testTimeout: patience });

describe("the chunks of a session's turns", () => {
  it.each(fixtureNames)(
    "make the messages of the fold, for the recorded session %s",
    async (name) => {
      expect(await expectLaw(await readFixture(name))).toBeGreaterThan(5);
    },
  );

  it("make the messages of the fold, whatever a session records", async () => {
    const imagined = fc
      .array(fc.nat({ max: 2 ** 16 }), { maxLength: 600, size: "max" })
      .map((numbers) => new ImaginedSession(new Choices(numbers)).live());
    await fc.assert(
      fc.asyncProperty(imagined, async (events) => {
        await expectLaw(events);
      }),
      { ...runs(60), endOnFailure: true },
    );
  });
});
