/**
 * The command `send`: reads the input, decides again after each wait, and records the message once under its id.
 * `handle.ts` calls it.
 */

import { defined, type Delivery, type EventBody, type EventLog } from "../../events/index.ts";
import {
  type Attaching,
  heldInput,
  receiveInput,
  recordOffloaded,
  type HeldInput,
} from "../../media/index.ts";
import { acceptedAt } from "../../projections/index.ts";
import { assertSameMessage } from "./repeated-message.ts";
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
      const notBefore = time === undefined ? undefined : laterThan(clock(), time);
      let actor = await openActor("accept messages");
      const again = async (on: SessionActor) =>
        turnOf(
          messageId,
          await sendAgain(on, input, messageId, { delivery, notBefore, values }),
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
        ...defined({ notBefore, by, about }),
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
