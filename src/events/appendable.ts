/**
 * What a log takes from a program: an event that can be read again and that folds and prompts can take.
 * Every `EventLog` asks before it appends; who has checked its events already says so. Pure.
 */

import { z } from "zod";
import { isKnownType, type NewEvent, type SessionEvent } from "./catalogue.ts";
import { createCodec } from "./codec.ts";
import { contentFault } from "./content-fault.ts";
import { TurnlogError } from "./errors.ts";
import type { AppendOptions } from "./event-log.ts";
import { storedForm } from "./stored-form.ts";

/** Checks what frames an event. A field beside these would be lost without a word. */
const envelope = z.strictObject({
  position: z.unknown().optional(),
  time: z.number(),
  type: z.string(),
  data: z.custom<object>((data) => typeof data === "object" && data !== null, "expected an object"),
  id: z.string().optional(),
});

/** An event of a type that this release does not know, as it is kept. */
const unknownData = z.strictObject({
  type: z.string().refine((type) => type !== "" && !isKnownType(type), "it is a known type"),
  version: z.int().positive(),
  data: z.custom((data) => data !== undefined, "expected JSON"),
});

const codec = createCodec();

/**
 * Whether a log may append an event: its envelope, its data by the schema of its type as they would be
 * read again, and that a prompt can contain it. Events of types that this release does not know pass
 * only where they are copied.
 * @throws TurnlogError `EVENT_INVALID`, which names the field
 */
export function assertAppendable(
  session: string,
  position: number,
  event: NewEvent,
  { origin }: Pick<AppendOptions, "origin"> = {},
): void {
  if (origin === "recorded") return;
  let fault: string | undefined;
  try {
    fault = faultOf(session, position, event, origin === "copied");
  } catch (error) {
    if (isTooNew(error)) throw error;
    fault = "it throws when it is read";
  }
  if (fault === undefined) return;
  throw new TurnlogError(
    "EVENT_INVALID",
    `An event for ${session}:${position} was not appended: ${fault}. Nothing of this append was written.`,
    { session, position },
  );
}

/** Of an event that a later release wrote. Nothing else is asked of what was thrown, which may throw itself. */
function isTooNew(error: unknown): boolean {
  try {
    return TurnlogError.isInstance(error) && error.code === "EVENT_TOO_NEW";
  } catch {
    return false;
  }
}

/** The id of an event, which may be none: it is asked for before the event is checked. */
export function idOf(event: unknown): string | undefined {
  if (typeof event !== "object" || event === null || !("id" in event)) return undefined;
  return typeof event.id === "string" ? event.id : undefined;
}

function faultOf(
  session: string,
  position: number,
  event: NewEvent,
  isCopied: boolean,
): string | undefined {
  const framed = envelope.safeParse(event);
  if (!framed.success) return `it is no event: ${words(framed.error)}`;
  if (event.type === "unknown") {
    if (!isCopied)
      return "its type is not known here. Only a copy of a session may hold such events";
    const kept = unknownData.safeParse(event.data);
    if (!kept.success) return `it is no event of a later release: ${words(kept.error)}`;
    return contentFault(event);
  }
  if (!isKnownType(event.type)) return `there is no type ${JSON.stringify(event.type)}`;
  const asRead = readAgain(session, position, event);
  if (typeof asRead === "string") return asRead;
  // A copy keeps what an earlier release wrote.
  return isCopied ? undefined : contentFault(asRead);
}

/** The event as it will be read, or why it could not be. */
function readAgain(session: string, position: number, event: NewEvent): SessionEvent | string {
  let row: string;
  try {
    row = codec.encode(event, { session, position });
  } catch (error) {
    return `its data is not JSON: ${error instanceof TypeError ? error.message : "it throws when it is read"}`;
  }
  try {
    return codec.decode(row, { session, position });
  } catch (error) {
    const { type } = storedForm(event);
    const cause = error instanceof TurnlogError ? error.cause : undefined;
    if (cause instanceof z.ZodError) return `the data of ${type} does not fit: ${words(cause)}`;
    throw error;
  }
}

function words(error: z.ZodError): string {
  return z.prettifyError(error).replaceAll("\n", " ");
}
