/** Rewound sessions under everything else: kills, redaction, exports, forks, compactions, many branches. */

import { describe, expect, it } from "vitest";
import {
  createRuntime,
  exportSession,
  importSession,
  memoryKeys,
  openMemoryLog,
  verifySession,
  viewSession,
  type EventLog,
} from "../../src/public/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { readSessionState } from "../../src/state/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { playBranches } from "../support/branching.ts";
import { improvisedModel } from "../support/improvised-model.ts";
import { reopeningProblems } from "../support/reopening.ts";
import { patience } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

/** A session with an undo, a checkout, an edit and a regeneration. */
async function rewound(): Promise<readonly SessionEvent[]> {
  const steps = ["One.", calling(call("echo", "1", { value: "v" })), "Two.", "Three.", "Four."];
  const model = scriptedModel([...steps, "Five."]);
  await using open = await openSession({ model, tools: { echo } });
  const { session } = open;
  await playBranches(session);
  return await open.events();
}

async function logOf(events: readonly SessionEvent[]): Promise<EventLog & AsyncDisposable> {
  const log = await openMemoryLog();
  await log.append("s", "none", events, { origin: "recorded" });
  return log;
}

describe("a rewound session", () => {
  it(
    "continues by every law after a kill right before and right after each of its rewinds",
    async () => {
      const events = await rewound();
      const rewinds = events.flatMap(({ type, position }) =>
        type === "session.rewound" ? [position - 1, position, position + 1] : [],
      );
      expect(rewinds.length).toBe(12);
      for (const position of rewinds) {
        await using log = await logOf(events.slice(0, position));
        const agent = { model: improvisedModel({ tools: ["echo"], rounds: 1 }), tools: { echo } };
        const problems = await reopeningProblems({ log, session: "s", recovery: "stop", agent });
        expect({ position, problems }).toEqual({ position, problems: [] });
      }
    },
    patience,
  );

  it("loses no edit when the process dies between the rewind and the message", async () => {
    const events = await rewound();
    const edit = events.find(
      (event) => event.type === "session.rewound" && event.data.edit !== undefined,
    );
    await using log = await logOf(events.slice(0, edit?.position));
    const agent = { model: scriptedModel(["Edited."]), tools: { echo } };
    await using runtime = await createRuntime({ log, agent });
    const session = await runtime.session("s");
    const turn = await session.send("b2", { id: "b2", replaces: "b" });
    expect((await turn.result).text).toBe("Edited.");
    const all = await Array.fromAsync(log.read("s"));
    expect(all.filter(({ type }) => type === "session.rewound").length).toBe(3);
  });

  it("verifies, also once it was exported, imported, forked and read at any boundary", async () => {
    const events = await rewound();
    await using log = await logOf(events);
    expect((await verifySession(log, "s", { every: 1 })).problems).toEqual([]);
    const lines = await Array.fromAsync(exportSession(log, "s"));
    await using other = await openMemoryLog();
    await importSession(other, lines, { as: "copy" });
    expect((await verifySession(other, "copy")).problems).toEqual([]);
    const there = await viewSession(other, "copy");
    expect(there.prompt.messages).toEqual((await viewSession(log, "s")).prompt.messages);
    const { boundaries } = await readSessionState(log, "s");
    await using runtime = await createRuntime({ log, agent: { model: scriptedModel([]) } });
    const session = await runtime.session("s");
    for (const { to } of boundaries.passed) {
      const fork = await session.fork({ position: to });
      expect((await fork.view()).prompt.messages).toEqual((await session.at(to)).prompt.messages);
      expect((await verifySession(log, fork.id)).problems).toEqual([]);
    }
  });

  it("has nothing of a left branch in a summary, and returns to it whole", async () => {
    const model = scriptedModel(["One.", "Secret plan.", "Two.", "Summary of it."]);
    await using open = await openSession({ model });
    const { session } = open;
    for (const text of ["a", "b"]) await (await session.send(text)).result;
    const before = (await session.view()).prompt.messages;
    await session.rewind({ beforeTurn: 2 });
    await (
      await session.send("c")
    ).result;
    await session.compact();
    const asked = JSON.stringify(model.calls.map(({ prompt }) => prompt).slice(2));
    expect(asked).not.toContain("Secret");
    await session.checkout(1);
    expect((await session.view()).prompt.messages).toEqual(before);
  });

  it("is redacted on left branches too", async () => {
    const keys = memoryKeys();
    const stored = await openMemoryLog();
    await using runtime = await createRuntime({
      log: stored,
      encryption: { keys },
      agent: { model: scriptedModel(["One.", "Two."]) },
    });
    const session = await runtime.session("s");
    await (
      await session.send("my secret", { id: "m" })
    ).result;
    await session.rewind({ beforeTurn: 1 });
    await (
      await session.send("hello")
    ).result;
    const queued = (await Array.fromAsync(runtime.log.read("s"))).find(
      ({ type }) => type === "message.queued",
    );
    await session.redact(queued?.position ?? 0);
    expect(JSON.stringify(await Array.fromAsync(runtime.log.read("s")))).not.toContain("secret");
    await session.checkout(1);
    expect(JSON.stringify(await session.view())).not.toContain("secret");
    expect((await verifySession(runtime.log, "s")).problems).toEqual([]);
  });
});
