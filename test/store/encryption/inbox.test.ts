/** Commands whose arguments and answers are encrypted, while the key of their session changes. */

import { expect, it } from "vitest";
import { redactSession } from "../../../src/archive/index.ts";
import type { EventLog, Inbox, InboxCommand } from "../../../src/events/index.ts";
import { openMemoryLog } from "../../../src/public/index.ts";
import { encryptedLog, memoryKeys } from "../../../src/store/encryption/index.ts";
import { wrapLog } from "../../../src/replay/index.ts";
import { sharedLog } from "../../crossings/shared-log.ts";

const hello = [
  { type: "message.queued", time: 1, data: { id: "m", content: "Hi", delivery: "steer" } },
  { type: "message.withdrawn", time: 1, data: { ids: ["m"] } },
] as const;

function inboxOf({ inbox }: EventLog): Inbox {
  if (inbox === undefined) throw new Error("The log has no inbox.");
  return inbox;
}

function command(id: string): InboxCommand {
  return { id, name: "setMetadata", args: [{ topic: "hidden" }] };
}

it("a process that executes a command of its own reads the answer", async () => {
  const log = encryptedLog(sharedLog(await openMemoryLog())(), memoryKeys());
  await log.append("s", 0, hello);
  const inbox = inboxOf(log);
  await inbox.post("s", command("c"));
  const answer = inbox.answerOf("s", "c");
  expect(await inbox.unanswered("s")).toEqual([command("c")]);
  await inbox.answer("s", "c", { value: 1 });
  expect(await answer).toEqual({ value: 1 });
});

it("a command that is posted after an erasure is read, though the listing began before it", async () => {
  const open = sharedLog(await openMemoryLog());
  const keys = memoryKeys();
  const other = encryptedLog(open(), keys);
  const below = open();
  const log = encryptedLog(
    wrapLog(below, {
      inbox: {
        ...inboxOf(below),
        unanswered: async (session) => {
          await redactSession(log, session, [1]);
          await inboxOf(other).post(session, command("late"));
          return await inboxOf(below).unanswered(session);
        },
      },
    }),
    keys,
  );
  await log.append("s", 0, hello);
  await inboxOf(other).post("s", command("early"));
  expect(await inboxOf(log).unanswered("s")).toEqual([command("early"), command("late")]);
});

it("a deletion is not answered as one that nobody can read while it is carried out, nor while it is answered", async () => {
  const below = sharedLog(await openMemoryLog())();
  const answers: unknown[] = [];
  // As in PostgreSQL, nothing of a deleted session stays.
  let isDeleted = false;
  let meanwhile = async (): Promise<void> => {};
  const log = encryptedLog(
    wrapLog(below, {
      inbox: {
        ...inboxOf(below),
        unanswered: async (session) => {
          const listed = await inboxOf(below).unanswered(session);
          await meanwhile();
          return isDeleted ? listed.map((one) => ({ ...one, args: [] })) : listed;
        },
        answer: async (session, id, answer) => {
          answers.push(answer);
          await inboxOf(below).answer(session, id, answer);
        },
      },
    }),
    memoryKeys(),
  );
  await log.append("s", 0, hello);
  const inbox = inboxOf(log);
  await inbox.post("s", command("c"));
  const answer = inbox.answerOf("s", "c");
  await inbox.unanswered("s");
  await log.delete("s");
  isDeleted = true;
  expect(await inbox.unanswered("s")).toMatchObject([{ id: "c" }]);
  meanwhile = async () => {
    await inbox.answer("s", "c", { value: 1 });
    expect(await answer).toEqual({ value: 1 });
  };
  await inbox.unanswered("s");
  expect(answers).toHaveLength(1);
});
