/**
 * The command `send`: reads the input, decides again after each wait, and records the message once under its id.
 * `handle.ts` calls it.
 */

import {
  defined,
  type Delivery,
  type EventBody,
  type EventLog,
  shellWord,
  isRedacted,
  TurnlogError,
  type SessionEvent,
  type StoredUserContent,
} from "../../events/index.ts";
import {
  type Attaching,
  heldInput,
  receiveInput,
  recordOffloaded,
  type HeldInput,
  attachedName,
  contentIdentity,
  isMessageWithFiles,
} from "../../media/index.ts";
import { acceptedAt, type QueuedMessage } from "../../projections/index.ts";
import {
  assertBasedOn,
  laterThan,
  resumed,
  waitingMessage,
  type TurnValues,
} from "../../commands/index.ts";
import type { SessionActor } from "../session/actor.ts";
import type { RewindHost, Rewinds, TurnPlace } from "./rewinds.ts";
import type { Session } from "../api/session.ts";

interface SendingHost extends Pick<RewindHost, "openActor" | "turnOf">, Pick<Rewinds, "edit"> {
  readonly log: EventLog;
  readonly newId: () => string;
  readonly clock: () => number;
  readonly attachments: Attaching;
}

/** How a message is to be delivered. */
interface Delivered {
  readonly delivery: Delivery | undefined;
  readonly notBefore: number | undefined;
  readonly values: TurnValues;
}

export function sessionSending(
  id: string,
  { log, newId, clock, attachments, openActor, turnOf, edit }: SendingHost,
): Pick<Session, "send"> {
  /** Answers a message id that was accepted before, as when a client never got the first answer. */
  async function sendAgain(
    known: SessionActor,
    input: HeldInput,
    messageId: string,
    { delivery, notBefore, values }: Delivered,
  ): Promise<TurnPlace> {
    let actor = await openActor("accept messages", known);
    const queuePosition = acceptedAt(actor.state.queue, messageId) ?? actor.state.position;
    await actor.durable();
    const waitsFor = waitingMessage(actor, messageId);
    const message = {
      id: messageId,
      input,
      delivery,
      notBefore,
      position: queuePosition,
      waitsFor,
    };
    await assertSameMessage(log, id, message, attachments);
    actor = await openActor("accept messages", actor);
    await actor.turn.assertValid(values);
    const queued = !actor.isIdle || waitsFor?.notBefore !== undefined;
    actor.turn.holdAgain(messageId, values);
    if (waitingMessage(actor, messageId) !== undefined)
      for (const body of resumed(actor)) actor.record(body);
    await actor.durable();
    return { queuePosition, queued };
  }

  return {
    async send(
      given,
      {
        id: messageId = newId(),
        delivery,
        notBefore: time,
        replaces,
        basedOn,
        by,
        about,
        ...values
      } = {},
    ) {
      const input = heldInput(id, given);
      // What is received meanwhile may take longer than until then.
      const later = (): number | undefined =>
        time === undefined ? undefined : laterThan(clock(), time);
      let actor = await openActor("accept messages");
      const again = async (on: SessionActor) =>
        turnOf(
          messageId,
          await sendAgain(on, input, messageId, { delivery, notBefore: later(), values }),
          values.output,
        );
      if (acceptedAt(actor.state.queue, messageId) !== undefined) return await again(actor);
      const received = await receiveInput(id, input, attachments);
      actor = await openActor("accept messages", actor);
      assertBasedOn(actor, basedOn);
      const offloading = actor.blobs.input(received);
      using offloaded = offloading && (await offloading);
      const checking = actor.turn.assertValid(values);
      if (checking !== undefined) await checking;
      const lasting = actor.outlast(offloaded?.content ?? received);
      if (lasting !== undefined) await lasting;
      // The actor may have been passivated since, and a passivated actor records nothing.
      if (offloaded !== undefined || checking !== undefined || lasting !== undefined)
        actor = await openActor("accept messages", actor);
      const { content = received, stored = [] } = offloaded ?? {};
      const data = {
        id: messageId,
        content,
        delivery: delivery ?? "follow-up",
        ...defined({ notBefore: later(), by, about }),
      };
      const accept = (on: SessionActor): ReturnType<typeof queueMessage> =>
        queueMessage(on, { data, stored, values });
      const accepted =
        replaces === undefined
          ? accept(actor)
          : await edit({ replaces, newId: messageId, basedOn, by, stored, values }, accept);
      if (accepted === undefined) return await again(actor);
      await accepted.actor.durable();
      return turnOf(messageId, accepted, values.output);
    },
  };
}

interface NewMessage {
  readonly data: EventBody<"message.queued">["data"];
  readonly stored: readonly EventBody<"blob.stored">[];
  readonly values: TurnValues;
}

interface QueuedNow extends TurnPlace {
  readonly actor: SessionActor;
}

/** Undefined if a message of that id was accepted before. @throws TurnlogError `BLOB_TOO_LARGE` */
function queueMessage(
  actor: SessionActor,
  { data, stored, values }: NewMessage,
): QueuedNow | undefined {
  if (acceptedAt(actor.state.queue, data.id) !== undefined) return undefined;
  const queued = !actor.isIdle || data.notBefore !== undefined;
  actor.blobs.assertWithinQuota(stored);
  actor.turn.hold(data.id, { ...values, about: data.about ?? {} });
  recordOffloaded(actor, stored, { type: "message.queued", data });
  return {
    actor,
    queued,
    queuePosition: acceptedAt(actor.state.queue, data.id) ?? actor.state.position,
  };
}

// Decides whether a message that is sent under a known id is the one that was accepted. The same message is not
// delivered twice. Another message is refused: it would get lost behind the first one.

type Accepted = SessionEvent<"message.queued">;

interface RepeatedMessage {
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
async function assertSameMessage(
  log: EventLog,
  session: string,
  message: RepeatedMessage,
  attachments: Attaching,
): Promise<void> {
  const { id, input, delivery, notBefore, position, waitsFor } = message;
  const accepted = await acceptedMessage(log, session, position);
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

async function acceptedMessage(
  log: EventLog,
  session: string,
  position: number,
): Promise<Accepted> {
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
