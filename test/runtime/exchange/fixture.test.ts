/** Fixtures: sessions that can be shown to others, keep every law, and replay. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { EventLog, SessionEvent } from "../../../src/events/index.ts";
import {
  createRuntime,
  exportFixture,
  importSession,
  openMemoryLog,
  readSessionFile,
  verifySession,
  type Agent,
  type FixtureOptions,
} from "../../../src/index.ts";
import { differenceText, replay, scriptedModel } from "../../../src/testing/index.ts";
import { agentOf } from "../../laws/recorded-scripts.ts";
import { fixtureNames, readFixture } from "../../laws/session-fixture.ts";
import { call } from "../../support/script.ts";

async function logWith(events: readonly SessionEvent[]): Promise<EventLog> {
  const log = await openMemoryLog();
  await log.append("s", "none", events);
  return log;
}

describe.each(fixtureNames)("the fixture of the session %s", (name) => {
  it("keeps every law, replays, and is the same when it is made of itself", async () => {
    await using log = await logWith(await readFixture(name));
    const lines = await exportFixture(log, "s");
    const { session, events, fixture } = await readSessionFile(lines);
    expect({ session, fixture }).toEqual({ session: "fixture", fixture: { redacted: [] } });
    const { difference } = await replay(events, await agentOf(name));
    expect(difference && differenceText(difference)).toBeUndefined();
    await using other = await openMemoryLog();
    await importSession(other, lines, { as: "again" });
    expect((await verifySession(other, "again")).problems).toEqual([]);
    expect(await exportFixture(other, "again")).toEqual(lines);
  });
});

const KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
const TOKEN = `ghp_${"a1B2".repeat(9)}`;
const HOME = "/home/somebody";

/** It says, calls with and is answered what nobody else should know. */
function leakingAgent(): Agent {
  const letters = (text: string): readonly string[] => text.split("");
  return {
    instructions: "You leak.",
    model: scriptedModel([
      {
        responseId: "resp_0123456789abcdef",
        parts: [
          { type: "reasoning", deltas: ["The key is ", ...letters(KEY), ", I think."] },
          { type: "text", deltas: ["I look in ", ...letters(HOME), "/notes."] },
          {
            ...call("read", "call_0123456789abcdef", {
              path: `${HOME}/notes.txt`,
              password: "correcthorsebattery",
              who: "Ada Lovelace",
            }),
          },
        ],
      },
      { parts: [{ type: "text", deltas: [`It says ${TOKEN.slice(0, 9)}`, TOKEN.slice(9), "."] }] },
    ]),
    tools: {
      read: tool({
        inputSchema: z.object({ path: z.string(), password: z.string(), who: z.string() }),
        execute: async ({ path }) => ({ path, text: `API_KEY=${KEY}\n`, token: TOKEN }),
      }),
    },
  };
}

async function leaked(options?: FixtureOptions): Promise<{
  readonly lines: readonly string[];
  readonly recorded: readonly SessionEvent[];
}> {
  await using log = await openMemoryLog();
  await using runtime = await createRuntime({ log, agent: leakingAgent() });
  const session = await runtime.session("a-session-with-a-name");
  const turn = await session.send(
    `Ada Lovelace asks: what is in ${HOME}/notes.txt? My key is ${KEY}.`,
  );
  await turn.result;
  const lines = await exportFixture(log, session.id, options);
  return { lines, recorded: await Array.fromAsync(log.read(session.id)) };
}

describe("a fixture", () => {
  it("has no secret and no home folder, wherever and in however many pieces they were said", async () => {
    const { lines, recorded } = await leaked();
    const { events, fixture } = await readSessionFile(lines);
    expect(fixture?.redacted).toEqual(["home-folders", "named-secrets", "provider-keys"]);
    const text = (from: readonly SessionEvent[]): string =>
      from
        .flatMap(({ type, data }) =>
          type === "part.text-delta" || type === "part.reasoning-delta" ? [data.text] : [],
        )
        .join("");
    expect(text(recorded)).toContain(KEY);
    expect(text(events)).toBe("The key is [secret], I think.I look in ~/notes.It says [secret].");
    const whole = lines.join("\n") + text(events);
    for (const word of [KEY, KEY.slice(8), TOKEN, TOKEN.slice(8), "somebody", "correcthorse"]) {
      expect(whole).not.toContain(word);
    }
    expect(whole).toContain("Ada Lovelace");
    // What was said in more pieces than are left has fewer of them.
    expect(events.length).toBeLessThan(recorded.length);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });

  it("replays with the agent that was recorded, its prompts being those of what is left", async () => {
    const { lines, recorded } = await leaked();
    const { events } = await readSessionFile(lines);
    const { difference } = await replay(events, leakingAgent());
    expect(difference && differenceText(difference)).toBeUndefined();
    const digests = (from: readonly SessionEvent[]): readonly string[] =>
      from.flatMap((event) => (event.type === "step.started" ? [event.data.promptDigest] : []));
    expect(digests(events)).toHaveLength(2);
    expect(digests(events)).not.toEqual(digests(recorded));
  });

  it("has short ids, begins at a fixed moment, and keeps the time between events", async () => {
    const { lines, recorded } = await leaked();
    const { events } = await readSessionFile(lines);
    const whole = lines.join("\n");
    expect(whole).not.toMatch(/[\da-f]{8}-[\da-f]{4}-|call_0123|resp_0123|a-session-with/);
    expect(events.find(({ type }) => type === "message.queued")?.data).toMatchObject({ id: "m1" });
    const started = events.find(({ type }) => type === "tool.started");
    expect(started?.data).toMatchObject({ callId: "c1", effectId: "fixture/1/c1" });
    expect(events[0]?.at).toBe(Date.UTC(2026, 0, 1));
    const lasted = (from: readonly SessionEvent[]): number =>
      (from.at(-1)?.at ?? 0) - (from[0]?.at ?? 0);
    expect(lasted(events)).toBe(lasted(recorded));
  });

  it("takes out what its maker says", async () => {
    const { lines } = await leaked({ redact: [/Ada\s+\w+/i], home: "/srv/nobody" });
    const { fixture, events } = await readSessionFile(lines);
    expect(lines.join("\n")).not.toContain("Lovelace");
    expect(lines.join("\n")).toContain("[redacted] asks");
    expect(fixture?.redacted).toContain("own");
    expect((await replay(events, leakingAgent())).difference).toBeUndefined();
  });

  it("is refused where what is taken out leaves no session", async () => {
    const broken = leaked({ redact: [/follow-up/] });
    await expect(broken).rejects.toMatchObject({ code: "EVENT_INVALID" });
    await expect(broken).rejects.toThrow(/makes no fixture/);
  });
});
