/** Laws 4 to 7 and 11 over logs that the runtime may record, cut off at any point. */

import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { SessionEvent } from "../../src/events/index.ts";
import { structuralTypes } from "../../src/machines/index.ts";
import { inspectionProblems, lawProblems } from "../support/law-problems.ts";
import { patience, runs } from "../support/runs.ts";
import { Choices } from "./choices.ts";
import { ImaginedSession } from "./imagined-session.ts";

const imagined: fc.Arbitrary<readonly SessionEvent[]> = fc
  .array(fc.nat({ max: 2 ** 16 }), { maxLength: 600, size: "max" })
  .map((numbers) => new ImaginedSession(new Choices(numbers)).live());

vi.setConfig({ testTimeout: patience });

describe("a log that the runtime may record", () => {
  it("keeps every law at every position", () => {
    fc.assert(
      fc.property(imagined, (events) => {
        expect(lawProblems(events, { cutOff: true })).toEqual([]);
      }),
      runs(75),
    );
  });

  it("accounts for every message and every token wherever it is cut off", () => {
    fc.assert(
      fc.property(imagined, fc.nat(), (events, at) => {
        expect(inspectionProblems(events.slice(0, at % (events.length + 1)))).toEqual([]);
      }),
      runs(50),
    );
  });

  it("is of every kind: the imagination misses no event that moves the machine", () => {
    const seen = new Set<string>();
    for (const events of fc.sample(imagined, { numRuns: 200, seed: 1 })) {
      for (const { type } of events) seen.add(type);
    }
    const missed = structuralTypes.filter((type) => !seen.has(type));
    expect(missed).toEqual(["session.closed"]);
  });
});
