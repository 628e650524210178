/**
 * Another provider takes over a recorded session at each of its steps, and after each kind of recorded stream: it gets
 * a request that it accepts. The model of the record is down.
 */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, overflow, slidingWindow, type Agent } from "../../src/public/index.ts";
import type { ModelName } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { openMemoryLog } from "../../src/store/leveldb/index.ts";
import { refusal } from "../support/failing-models.ts";
import { long, patience, someOfEach } from "../support/runs.ts";
import { fakeProvider, providerNames } from "../providers/index.ts";
import { driveSession } from "./driven-session.ts";
import { recordedSessions, sessionsAbsent, sessionsPresent } from "./session-corpus.ts";

/** A provider of its own: several had a part in some recordings, and none takes the ids of another. */
const gone = <Model extends object>(model: Model): Model & ModelName => ({
  ...model,
  provider: "gone.chat",
  modelId: "recorded",
});

describe.skipIf(!sessionsPresent)(
  `a recorded session${sessionsPresent ? "" : sessionsAbsent}`,
  () => {
    const sessions = someOfEach(sessionsPresent ? recordedSessions() : [], ({ file }) => file);
    it.each(sessions)(
      "is taken over by every provider at each step: $file $id",
      async (recorded) => {
        const { events } = await driveSession(recorded, {
          window: 400_000,
          when: overflow(),
          how: slidingWindow(),
          model: gone,
        });
        await using log = await openMemoryLog();
        await log.append("s", "none", events, { origin: "recorded" });
        const steps = events.flatMap(({ type, position }) =>
          type === "step.started" ? [position] : [],
        );
        const model = gone(scriptedModel(() => ({ failure: refusal(401) })));
        const names = events.flatMap(({ type, data }) =>
          type === "part.tool-call" ? [data.toolName] : [],
        );
        const any = tool({ inputSchema: z.looseObject({}), execute: () => "done" });
        const tools = Object.fromEntries(names.map((name) => [name, any]));
        let taken = 0;
        for (const [index, name] of providerNames.entries()) {
          await using provider = await fakeProvider(name);
          const agent: Agent = {
            model,
            fallback: [provider.model],
            tools,
            maxSteps: 9999,
            loopGuard: false,
          };
          await using runtime = await createRuntime({ log, agent, recovery: "continue" });
          const session = await runtime.session("s");
          // The rest of the steps are other providers'.
          const own = long
            ? steps
            : steps.filter((_, place) => place % providerNames.length === index);
          for (const position of own) {
            const fork = await session.fork({ position: position - 1 });
            await fork.idle();
            const after = await Array.fromAsync(log.read(fork.id, { from: position }));
            expect(after.some(({ type }) => type === "step.failed-over")).toBe(true);
            const own = await Array.fromAsync(log.read(fork.id, { from: position }));
            expect(own.some(({ type }) => type === "step.failed-over")).toBe(true);
          }
          taken += own.length;
          expect(provider.requests.flatMap(({ breaches }) => breaches)).toEqual([]);
          expect(provider.requests.length).toBeGreaterThan(own.length - 1);
        }
        expect(taken).toBeGreaterThan(steps.length - 1);
      },
      patience,
    );
  },
);
