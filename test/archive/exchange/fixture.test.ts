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
} from "../../../src/public/index.ts";
import type { FixtureOptions } from "../../../src/archive/exchange/index.ts";
import { differenceText, replay } from "../../../src/replay/index.ts";
import { scriptedModel } from "../../../src/models/index.ts";
import { agentOf } from "../../laws/recorded-scripts.ts";
import { fixtureNames, readFixture } from "../../laws/session-fixture.ts";
import { sampled } from "../../support/runs.ts";
import { call } from "../../support/script.ts";

async function logWith(events: readonly SessionEvent[]): Promise<EventLog> {
  const log = await openMemoryLog();
  await log.append("s", "none", events, { origin: "copied" });
  return log;
}

describe.each(sampled(fixtureNames, 4))("the fixture of the session %s", (name) => {
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
    // The second text is told by what differs from the first, and both have the key.
    instructions: `You leak ${KEY}.`,
    prepareStep: ({ stepNumber }) => ({
      instructions: `You leak ${KEY}. ${"Slowly. ".repeat(20)}Step ${stepNumber} of ${KEY}.`,
    }),
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
    expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index + 1));
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
    expect(events[0]?.time).toBe(Date.UTC(2026, 0, 1));
    const lasted = (from: readonly SessionEvent[]): number =>
      (from.at(-1)?.time ?? 0) - (from[0]?.time ?? 0);
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
    await expect(broken).rejects.toThrow(/cannot become a fixture/);
  });
});

describe("a session that leaks in every place", () => {
  const SECRETS = {
    password: "correct horse battery",
    header: "q8Zr2LmX7vKp4TnB9sYd",
    pair: "x7Kd0pQ2mW9vTz4LbN1r",
    argument: "hunter2hunter2",
    key: "glpat-aB3dE5gH7jK9mN1pQ3sT",
    query: "Zk3v9TqLw8YhB2nXr5Md",
    file: "s3cr3t-in-a-file",
    name: "ghp_a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8",
  };

  function agent(): Agent {
    const json = z.json();
    return {
      model: scriptedModel([
        {
          parts: [
            {
              ...call("request", "1", {
                headers: [{ name: "X-Api-Key", value: SECRETS.header }],
                pair: ["Authorization", `Bearer ${SECRETS.pair}`],
                args: ["--password", SECRETS.argument, "--verbose"],
                login: { user: "ada", password: SECRETS.password },
                url: `https://a.example/?a=1&access_token=${SECRETS.query}`,
                [SECRETS.key]: true,
              }),
            },
          ],
        },
        {
          parts: [{ type: "text", deltas: ["I said ", ...SECRETS.password.split(""), " to it."] }],
        },
      ]),
      tools: {
        request: tool({
          inputSchema: z.record(z.string(), json),
          execute: async () => ({
            stdout: JSON.stringify({ config: { client_secret: SECRETS.file } }),
            content: Buffer.from(`[db]\npassword=${SECRETS.file}\n`).toString("base64"),
            files: [`backup-${SECRETS.name}.tar`],
            [SECRETS.name]: "a",
          }),
        }),
      },
    };
  }

  it("makes a fixture without any of it, that replays", async () => {
    await using log = await openMemoryLog();
    await using runtime = await createRuntime({ log, agent: agent() });
    const session = await runtime.session("s");
    const text = Buffer.from(`aws_secret_access_key = ${"aB3/".repeat(10)}`);
    const turn = await session.send([
      { type: "text", text: "Look at it." },
      {
        type: "file",
        data: text.toString("base64"),
        mediaType: "text/plain",
        filename: `${SECRETS.key}.txt`,
      },
    ]);
    expect(await turn.result).toMatchObject({ finishReason: "stop" });
    const lines = await exportFixture(log, "s");
    const { events } = await readSessionFile(lines);
    const said = events
      .map(({ type, data }) => (type === "part.text-delta" ? data.text : ""))
      .join("");
    const whole = lines.join("\n") + said;
    for (const [where, secret] of Object.entries(SECRETS)) {
      expect(whole, where).not.toContain(secret);
      expect(whole, where).not.toContain(Buffer.from(secret).toString("base64").slice(2, 12));
    }
    // It had a name once, and none when it was said again.
    expect(said).toBe("I said [secret] to it.");
    const output = events.find(({ type }) => type === "tool.succeeded");
    const encoded = /"content":"([\w+/=]+)"/.exec(JSON.stringify(output))?.[1] ?? "";
    expect(Buffer.from(encoded, "base64").toString()).toBe("[db]\npassword=[secret]\n");
    const { difference } = await replay(events, agent());
    expect(difference && differenceText(difference)).toBeUndefined();
  });
});
