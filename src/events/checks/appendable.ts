/** Checks an event before any `EventLog` appends it: it must be readable again and fit into a prompt. Pure. */

import { z } from "zod";
import { isAppType } from "../catalogue/app-events.ts";
import {
  isAppEvent,
  isKnownType,
  type NewEvent,
  type SessionEvent,
} from "../catalogue/catalogue.ts";
import { createCodec, storedFields, storedJson } from "../rows/codec.ts";
import { contentFault } from "./content-fault.ts";
import { TurnlogError } from "../values/errors.ts";
import type { AppendOptions } from "../ports/event-log.ts";
import { storedForm } from "../rows/stored-form.ts";

/** The fields around the data. An unknown field is refused, since a row has no place for it. */
const envelope = z.strictObject({
  position: z.unknown().optional(),
  time: z.number(),
  type: z.string(),
  data: z.custom<object>((data) => typeof data === "object" && data !== null, "expected an object"),
  id: z.string().optional(),
});

const unknownData = z.lazy(() =>
  z.strictObject({
    type: z
      .string()
      .refine(
        (type) => type !== "" && !isKnownType(type) && !isAppType(type),
        "it is a known type",
      ),
    version: z.int().positive(),
    data: z.custom((data) => data !== undefined, "expected JSON"),
  }),
);

const codec = createCodec();

/**
 * Checks an event's fields, its data by the schema of its type, and whether a prompt can contain it.
 * Events of unknown types pass only with the origin `copied`.
 * @throws TurnlogError `EVENT_INVALID`; the message names the field
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

/** Whether a later release wrote the event. Reading a thrown value may throw itself. */
function isTooNew(error: unknown): boolean {
  try {
    return TurnlogError.isInstance(error) && error.code === "EVENT_TOO_NEW";
  } catch {
    return false;
  }
}

/** The id of an event of any program; undefined for what has none. */
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
  if (!framed.success) return `it is not an event: ${issueText(framed.error)}`;
  if (event.type === "unknown") {
    if (!isCopied)
      return "its type is not known here. Only a copy of a session may hold such events";
    const kept = unknownData.safeParse(event.data);
    if (!kept.success) return `it is not an event of a later release: ${issueText(kept.error)}`;
    return contentFault(event);
  }
  if (!isKnownType(event.type) && !isAppEvent(event))
    return `there is no type ${JSON.stringify(event.type)}`;
  const asRead = encodedAndDecoded(session, position, event);
  if (typeof asRead === "string") return asRead;
  // Earlier releases accepted content that no prompt can contain; copies keep it.
  return isCopied ? undefined : contentFault(asRead);
}

/** The event as the log will read it, or the reason why it cannot. */
function encodedAndDecoded(
  session: string,
  position: number,
  event: NewEvent,
): SessionEvent | string {
  let json: string;
  try {
    json = storedJson(event);
  } catch (error) {
    return `its data is not JSON: ${error instanceof TypeError ? error.message : "it throws when it is read"}`;
  }
  try {
    const key = { session, position };
    return codec.eventOf(storedFields(JSON.parse(json), key), key);
  } catch (error) {
    const { type } = storedForm(event);
    const cause = error instanceof TurnlogError ? error.cause : undefined;
    if (cause instanceof z.ZodError) return `the data of ${type} does not fit: ${issueText(cause)}`;
    throw error;
  }
}

function issueText(error: z.ZodError): string {
  return z.prettifyError(error).replaceAll("\n", " ");
}
