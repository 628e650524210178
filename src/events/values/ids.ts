/** Session ids, their forms in keys, file names and shells, and the ids made of them. Pure and without zod: pages use it too. */

import { TurnlogError } from "./errors.ts";

/** The characters of a URL's path (RFC 3986): an id is text, and a URL has it percent-encoded. */
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,511}$/;

export function isSessionId(value: string): boolean {
  return SESSION_ID.test(value);
}

/** @throws TurnlogError `INVALID_INPUT` */
export function parseSessionId(value: unknown): string {
  if (typeof value === "string" && isSessionId(value)) return value;
  throw new TurnlogError(
    "INVALID_INPUT",
    `A session id is 1 to 512 characters of a URL's path (A-Z a-z 0-9 - . _ ~ ! $ & ' ( ) * + , ; = : @ % /) and begins with a letter or a digit; got ${JSON.stringify(value)}.`,
  );
}

// The id of a call that a person or client is asked about.

/** No other session, turn, step or call has this id. URLs, shells and file names need no escape for it. */
export function askedId(
  session: string,
  { turn, step }: { readonly turn: number; readonly step: number },
  callId: string,
): string {
  return [segmentOf(session), turn, step, segmentOf(callId)].join("~");
}

/** The session in the id of a question; empty if the text is not such an id. */
export function sessionOfAsked(id: string): string {
  return fromSegment(id.slice(0, Math.max(0, id.indexOf("~"))));
}

// A session id as one segment of a key, a file name or another id, and as a word of a shell.

/**
 * The text with `=002f` for `/`, and so on for all characters but letters, digits and `. _ : @ -`. Different
 * texts stay different, and the beginning of a text becomes the beginning of its segment.
 */
export function segmentOf(text: string): string {
  return text.replaceAll(
    /[^\w.:@-]/g,
    (unit) => `=${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The text of a segment. */
export function fromSegment(segment: string): string {
  return segment.replaceAll(/=([0-9a-f]{4})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** The session that made a call, as its effect id says; undefined if the id is not one of this call. */
export function callerOf({
  effectId,
  step,
  callId,
}: {
  readonly effectId: string;
  readonly step: number;
  readonly callId: string;
}): string | undefined {
  const end = `/${step}/${callId}`;
  return effectId.endsWith(end) ? fromSegment(effectId.slice(0, -end.length)) : undefined;
}

/** A session id as one word of a shell's command. */
export function shellWord(session: string): string {
  return /[~!$&'()*;]/.test(session) ? `'${session.replaceAll("'", `'\\''`)}'` : session;
}

// The recorded id of a call whose reply has used its id before: `call_0@2` is the second `call_0`.

/** @param nth - 2 for the second call of the id in its reply. */
export function repeatedId(id: string, nth: number): string {
  return `${id}@${nth}`;
}

/** Whether an id may be made by {@link repeatedId}: then no provider gave it. */
export function isRepeatedId(id: string): boolean {
  return /@\d+$/.test(id);
}

export function isRepeatOf(id: string, given: string): boolean {
  return isRepeatedId(id) && id.slice(0, id.lastIndexOf("@")) === given;
}
