/** A session that cannot be read is a row with its problem: it hides no other session. */

import { expect, it } from "vitest";
import {
  createRuntime,
  openMemoryLog,
  TurnlogError,
  type SessionEvent,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";

const agent = { model: scriptedModel(() => "Hi.") };

it.each(["LOG_DAMAGED", "EVENT_INVALID", "EVENT_TOO_NEW", "KEY_MISSING"] as const)(
  "a session whose reading throws %s is a row with its problem",
  async (code) => {
    await using log = await openMemoryLog();
    for (const session of ["a", "b", "c"]) {
      await using runtime = await createRuntime({ log, agent });
      await (
        await (await runtime.session(session)).send("Go.")
      ).result;
    }
    const broken = wrapLog(log, {
      loadSnapshot: async () => undefined,
      async *read(session, range): AsyncGenerator<SessionEvent> {
        const position = 2;
        const from = range?.from ?? 1;
        for await (const event of log.read(session, range)) {
          if (session === "b" && event.position === position && from <= position)
            throw new TurnlogError(code, "No.", { session, position });
          yield event;
        }
      },
    });
    await using runtime = await createRuntime({ log: broken, agent });
    const rows = await Array.fromAsync(runtime.sessions());
    expect(rows.map(({ session }) => session)).toEqual(["a", "b", "c"]);
    expect(rows[1]?.problem).toEqual({ code, message: "No.", position: 2 });
    for (const row of [rows[0], rows[2]]) {
      expect(row).toMatchObject({ title: "Go.", turns: 1 });
      expect(row).not.toHaveProperty("problem");
    }
  },
);

it("a log that cannot be read at all is no problem of a session: the list fails", async () => {
  await using log = await openMemoryLog();
  await using runtime = await createRuntime({
    agent,
    log: wrapLog(log, {
      loadSnapshot: () => Promise.reject(new TurnlogError("LOG_FAILED", "The disk is gone.")),
    }),
  });
  await log.append("s", "none", [{ type: "session.resumed", time: 1, data: {} }]);
  await expect(Array.fromAsync(runtime.sessions())).rejects.toMatchObject({ code: "LOG_FAILED" });
});
