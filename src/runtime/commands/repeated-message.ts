/**
 * Decides whether a message that is sent under a known id is the one that was accepted. The same message
 * is not delivered twice. Another message is refused: it would get lost behind the first one.
 */

import {
  shellWord,
  isRedacted,
  TurnlogError,
  type Delivery,
  type EventLog,
  type SessionEvent,
  type StoredUserContent,
} from "../../events/index.ts";
import type { QueuedMessage } from "../../projections/index.ts";
import {
  attachedName,
  type Attaching,
  contentIdentity,
  isMessageWithFiles,
  receiveInput,
  type HeldInput,
} from "../../media/index.ts";

type Accepted = SessionEvent<"message.queued">;

export interface RepeatedMessage {
  readonly id: string;
  readonly input: HeldInput;
  /** Undefined if the caller gave none. */
  readonly delivery: Delivery | undefined;
  /** Epoch milliseconds; undefined if the caller gave no time, or one that has passed. */
  readonly notBefore: number | undefined;
  readonly position: number;
  /** The message, if it still waits. */
  readonly waitsFor: QueuedMessage | undefined;
}

/** @throws TurnlogError `MESSAGE_CONFLICT`; `INVALID_INPUT` for an invalid message */
export async function assertSameMessage(
  log: EventLog,
  session: string,
  message: RepeatedMessage,
  attachments: Attaching,
): Promise<void> {
  const { id, input, delivery, notBefore, position, waitsFor } = message;
  const accepted = await acceptedAt(log, session, position);
  const conflict = (why: string): TurnlogError =>
    new TurnlogError(
      "MESSAGE_CONFLICT",
      `Session ${session} already accepted message ${id}, ${why}`,
      {
        session,
        position,
        details: { messageId: id },
      },
    );
  if (isRedacted(accepted)) {
    throw conflict(
      `and its content was redacted, so it is unknown whether this is the same message. Nothing was sent. Send it under another id, or get the turn by \`session.turn(${JSON.stringify(id)})\`.`,
    );
  }
  if (!(await isSame(session, input, accepted.data.content, attachments))) {
    throw conflict("with other content. Nothing was sent. Send new content under a new id.");
  }
  const isTime = (other: number | undefined): boolean => notBefore === other;
  if (notBefore !== undefined && !isTime(accepted.data.notBefore) && !isTime(waitsFor?.notBefore)) {
    const { notBefore: time } = waitsFor ?? accepted.data;
    const when = time === undefined ? "at once" : `not before ${new Date(time).toISOString()}`;
    throw conflict(
      `to be delivered ${when}. Nothing was changed. Move a message that still waits by \`session.reschedule(${JSON.stringify(id)}, { notBefore })\`.`,
    );
  }
  if (
    delivery === undefined ||
    delivery === accepted.data.delivery ||
    delivery === waitsFor?.delivery
  )
    return;
  throw conflict(
    waitsFor === undefined
      ? `to be delivered as ${JSON.stringify(accepted.data.delivery)}, and it no longer waits. Nothing was sent.`
      : `to be delivered as ${JSON.stringify(waitsFor.delivery)}. Nothing was changed. Move it by \`session.reschedule(${JSON.stringify(id)}, ${JSON.stringify(delivery)})\`.`,
  );
}

async function acceptedAt(log: EventLog, session: string, position: number): Promise<Accepted> {
  const [event] = await log.readAt(session, [position]);
  if (event?.type === "message.queued") return event;
  throw new TurnlogError(
    "LOG_DAMAGED",
    `Session ${session} accepted a message at ${position}, but the log has another event there. Run \`turnlog verify ${shellWord(session)}\`.`,
    { session, position },
  );
}

async function isSame(
  session: string,
  input: HeldInput,
  accepted: StoredUserContent,
  attachments: Attaching,
): Promise<boolean> {
  let content: StoredUserContent;
  try {
    content = await receiveInput(session, input, attachments);
  } catch (error) {
    // A file may be gone since. Then file names and texts are compared.
    if (!isMessageWithFiles(input)) throw error;
    const names = input.files.map((file) => ({ name: attachedName(file) }));
    const texts =
      input.text === undefined || input.text.trim() === "" ? [] : [{ text: input.text }];
    return JSON.stringify([...names, ...texts]) === JSON.stringify(outline(accepted));
  }
  return (await contentIdentity(content)) === (await contentIdentity(accepted));
}

/** The names of the files and the texts, in the order of the message. */
function outline(content: StoredUserContent): unknown {
  if (typeof content === "string") return [{ text: content }];
  return content.map((part) =>
    part.filename === undefined && part.type === "text"
      ? { text: part.text }
      : { name: part.filename },
  );
}
