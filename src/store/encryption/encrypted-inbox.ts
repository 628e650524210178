/**
 * Carries commands whose arguments and answers are encrypted with a secret of their session: every process with the
 * same keys reads them. Names and ids of commands are structure, and stay clear.
 */

import { hash } from "node:crypto";
import { z } from "zod";
import {
  elsewhere,
  jsonSchema,
  type EventLog,
  type Inbox,
  type InboxCommand,
  type JsonValue,
  type Ownership,
} from "../../events/index.ts";
import { decryptedContent, encryptedContent } from "./encrypted-event.ts";
import { keyMissing } from "./key-store.ts";
import { withoutKey, type KeyRing } from "./key-ring.ts";

const label = Buffer.from("turnlog command");
const argsSchema = z.array(jsonSchema);

export class EncryptedInbox implements Inbox {
  readonly #inbox: Inbox;
  readonly #log: EventLog;
  readonly #ring: KeyRing;
  /** The key of each command that this process has posted, since an erasure in the meantime changes the session's key. */
  readonly #posted = new Map<string, Buffer>();
  /** The same for those that it executes. It may execute its own, and then reads the answer later. */
  readonly #taken = new Map<string, Buffer>();

  constructor(inbox: Inbox, log: EventLog, ring: KeyRing) {
    this.#inbox = inbox;
    this.#log = log;
    this.#ring = ring;
  }

  /** @throws TurnlogError `SESSION_ELSEWHERE` for a session that has no key yet */
  async post(session: string, { id, name, args }: InboxCommand): Promise<void> {
    this.#ring.reread(session);
    const key = await this.#keyOf(session);
    if (key === undefined) throw elsewhere(session);
    this.#posted.set(id, key);
    await this.#inbox.post(session, { id, name, args: [encrypted(key, `command ${id}`, args)] });
  }

  async answerOf(session: string, id: string, signal?: AbortSignal): Promise<JsonValue> {
    try {
      const answer = await this.#inbox.answerOf(session, id, signal);
      // Without encryption: the other process could not read the command.
      if (typeof answer !== "string") return answer;
      const content = decrypted(this.#posted.get(id), `answer ${id}`, answer);
      if (content === undefined) throw keyMissing(session);
      return content;
    } finally {
      this.#posted.delete(id);
      // The command may have erased content.
      this.#ring.reread(session);
    }
  }

  async unanswered(session: string): Promise<readonly InboxCommand[]> {
    // One of them may be answered here in the meantime.
    const taken = new Set(this.#taken.keys());
    const before = await this.#keyOf(session);
    const listed = await this.#inbox.unanswered(session);
    // A command that erased content in the meantime has changed the key, and the next one is posted with that.
    const after = await this.#keyOf(session);
    const commands: InboxCommand[] = [];
    for (const { id, name, args } of listed) {
      const keys = [this.#taken.get(id) ?? this.#posted.get(id), before, after];
      const read = keys.flatMap((key) => {
        const content = argsSchema.safeParse(decrypted(key, `command ${id}`, args[0]));
        return key !== undefined && content.success ? [{ key, args: content.data }] : [];
      })[0];
      if (read !== undefined) {
        if (!taken.has(id)) this.#taken.set(id, read.key);
        commands.push({ id, name, args: read.args });
      } else if (taken.has(id) || this.#taken.has(id)) {
        // A deletion that is carried out here has removed its own arguments, and maybe its key.
        commands.push({ id, name, args: [] });
      } else {
        const { code, message } = await withoutKey(this.#log, session, 0);
        await this.#inbox.answer(session, id, { error: { code, message } });
      }
    }
    return commands;
  }

  async answer(session: string, id: string, answer: JsonValue): Promise<void> {
    const key = this.#taken.get(id) ?? (await this.#keyOf(session));
    if (key === undefined) throw keyMissing(session);
    await this.#inbox.answer(session, id, encrypted(key, `answer ${id}`, answer));
    this.#taken.delete(id);
  }

  onDue(...listener: Parameters<Inbox["onDue"]>): Disposable {
    return this.#inbox.onDue(...listener);
  }

  async #keyOf(session: string): Promise<Buffer | undefined> {
    const key = await this.#ring.of(session);
    return key && hash("sha256", Buffer.concat([key.snapshots, label]), "buffer");
  }
}

/** Another process may have erased a part of a key while it had the session. */
export function rereading(ownership: Ownership, ring: KeyRing): Ownership {
  return {
    async claim(session) {
      const claim = await ownership.claim(session);
      if (claim?.epoch === undefined) return claim;
      try {
        await ring.rereadLine(session);
        return claim;
      } catch (error) {
        await claim.release();
        throw error;
      }
    },
    ...(ownership.taken && { taken: ownership.taken.bind(ownership) }),
  };
}

function encrypted(key: Buffer, kind: string, value: unknown): string {
  return encryptedContent(key, kind, Buffer.from(JSON.stringify(value)));
}

function decrypted(
  key: Buffer | undefined,
  kind: string,
  text: JsonValue | undefined,
): JsonValue | undefined {
  if (key === undefined || typeof text !== "string") return undefined;
  const content = decryptedContent(key, kind, text);
  return content && jsonSchema.parse(JSON.parse(content.toString()));
}
