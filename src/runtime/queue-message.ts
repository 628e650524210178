/** Records a message that a session accepts, once under its id. */

import type { EventBody } from "../events/index.ts";
import { recordOffloaded } from "../media/index.ts";
import { acceptedAt } from "../projections/index.ts";
import type { SessionActor, TurnValues } from "./session/index.ts";

interface NewMessage {
  readonly data: EventBody<"message.queued">["data"];
  readonly stored: readonly EventBody<"blob.stored">[];
  readonly values: TurnValues;
}

interface QueuedNow {
  readonly actor: SessionActor;
  readonly position: number;
  /** Whether it waits behind a turn or for its time. */
  readonly queued: boolean;
}

/** Undefined if a message of that id was accepted before. @throws TurnlogError `BLOB_TOO_LARGE` */
export function queueMessage(
  actor: SessionActor,
  { data, stored, values }: NewMessage,
): QueuedNow | undefined {
  if (acceptedAt(actor.state.queue, data.id) !== undefined) return undefined;
  const queued = !actor.isIdle || data.notBefore !== undefined;
  actor.blobs.assertWithinQuota(stored);
  actor.turn.hold(data.id, values);
  recordOffloaded(actor, stored, { type: "message.queued", data });
  return {
    actor,
    queued,
    position: acceptedAt(actor.state.queue, data.id) ?? actor.state.position,
  };
}
