/** The contract of `EventLog.inbox`, as tests for any runner: commands reach the process that runs a session. */

import assert from "node:assert/strict";
import type { EventLog, Inbox, InboxCommand } from "../events/index.ts";
import type { ContractRunner } from "./event-log-contract.ts";
import { numbered } from "./log-samples.ts";
import type { OwnershipContract } from "./ownership-contract.ts";

export type InboxContract = ContractRunner & Pick<OwnershipContract, "open" | "beside" | "silence">;

/**
 * States the promises of an inbox as tests.
 * @example
 * import { describe, it } from "vitest";
 * inboxContract("my log", { describe, it, open: () => openMyLog(), beside: (log) => openAgain(log) });
 */
export function inboxContract(
  name: string,
  { describe, it, open, beside, silence }: InboxContract,
): void {
  const opened = async (check: (inbox: Inbox, log: EventLog) => Promise<void>): Promise<void> => {
    const log = await open();
    try {
      await check(inboxOf(log), log);
    } finally {
      await log.close();
    }
  };

  describe(`inbox: ${name}`, () => {
    it("lists the commands of a session in order, each id once, until they are answered", async () => {
      await opened(async (inbox) => {
        for (const id of ["b", "a", "c"]) await inbox.post("s", command(id));
        await inbox.post("s", { ...command("a"), name: "other" });
        await inbox.post("t", command("a"));
        assert.deepEqual(await inbox.unanswered("s"), [command("b"), command("a"), command("c")]);
        await inbox.answer("s", "a", { done: true });
        assert.deepEqual(await inbox.unanswered("s"), [command("b"), command("c")]);
        assert.deepEqual(await inbox.unanswered("t"), [command("a")]);
      });
    });

    it("gives the first answer to every caller that waits for it, before or after it was given", async () => {
      await opened(async (inbox) => {
        await inbox.post("s", command("a"));
        const early = inbox.answerOf("s", "a");
        await inbox.answer("s", "a", { n: 1, text: 'é"\n' });
        await inbox.answer("s", "a", { n: 2 });
        assert.deepEqual(await early, { n: 1, text: 'é"\n' });
        await inbox.post("s", command("b"));
        await inbox.answer("s", "b", [null]);
        assert.deepEqual(await inbox.answerOf("s", "b"), [null]);
      });
    });

    it("stops waiting when the signal aborts or the log is closed", async () => {
      const log = await open();
      const inbox = inboxOf(log);
      const left = new AbortController();
      const why = new Error("left");
      const waits = inbox.answerOf("s", "a", left.signal);
      const closes = assert.rejects(inbox.answerOf("s", "b"), { code: "LOG_CLOSED" });
      left.abort(why);
      await assert.rejects(waits, (error) => error === why);
      await log.close();
      await closes;
    });

    it("reports which sessions have commands: those without a process, and those of this process", async () => {
      await opened(async (inbox, log) => {
        await log.ownership?.claim("own");
        for (const session of ["own", "nobodys"]) await inbox.post(session, command("a"));
        await heard(inbox, ["nobodys", "own"]);
        for (const session of ["own", "nobodys"]) await inbox.answer(session, "a", null);
      });
    });

    if (beside === undefined) return;

    it("leaves a session to the living process that runs it, which answers", async () => {
      await opened(async (inbox, log) => {
        const other = await beside(log);
        try {
          const claim = await other.ownership?.claim("theirs");
          assert.ok(claim !== undefined);
          await inbox.post("theirs", command("a"));
          await inbox.post("free", command("a"));
          const seen = await heard(inbox, ["free"]);
          assert.ok(!seen.has("theirs"));
          await heard(inboxOf(other), ["theirs"]);
          // A process that does not have the session cannot answer for it.
          await inbox.answer("theirs", "a", "wrong");
          const answer = inbox.answerOf("theirs", "a");
          await inboxOf(other).answer("theirs", "a", "right");
          assert.equal(await answer, "right");
          await claim.release({ unfinished: true });
          await heard(inbox, ["theirs"]);
        } finally {
          await other.close();
        }
      });
    });

    it("leaves a session that was deleted to the process that has it, until it has answered", async () => {
      await opened(async (inbox, log) => {
        const other = await beside(log);
        try {
          const claim = await other.ownership?.claim("theirs");
          assert.ok(claim !== undefined);
          await other.append("theirs", "none", [numbered(1)]);
          await inbox.post("theirs", command("a"));
          await inbox.post("free", command("a"));
          await other.delete("theirs");
          assert.ok(!(await heard(inbox, ["free"])).has("theirs"));
          await inbox.answer("theirs", "a", "wrong");
          await inboxOf(other).answer("theirs", "a", "right");
          assert.equal(await inbox.answerOf("theirs", "a"), "right");
          await claim.release();
        } finally {
          await other.close();
        }
      });
    });

    if (silence === undefined) return;

    it("names the sessions of a process that fell silent, with or without commands", async () => {
      await opened(async (_, log) => {
        const other = await beside(log);
        try {
          await log.ownership?.claim("s");
          await silence(log);
          await heard(inboxOf(other), ["s"]);
          const claim = await other.ownership?.claim("s");
          assert.ok(claim !== undefined);
        } finally {
          await other.close();
        }
      });
    });
  });
}

function command(id: string): InboxCommand {
  return { id, name: "send", args: [`text of ${id}`, { id }] };
}

function inboxOf({ inbox }: EventLog): Inbox {
  assert.ok(inbox !== undefined, "the log has no `inbox`");
  return inbox;
}

/** Resolves with all sessions that were named, once these are among them. */
async function heard(inbox: Inbox, sessions: readonly string[]): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  const all = Promise.withResolvers<void>();
  using _ = inbox.onDue((session) => {
    seen.add(session);
    if (sessions.every((wanted) => seen.has(wanted))) all.resolve();
  });
  await all.promise;
  return seen;
}
