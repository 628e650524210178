/** The id of a call that somebody is asked about, made of where it is in the log. Pure; pages use it too. */

/**
 * An id that no other session, turn, step or call has. Uses only characters that need no escape in URLs,
 * shells and file names. A session's name has no `~`.
 */
export function askedId(
  session: string,
  { turn, step }: { readonly turn: number; readonly step: number },
  callId: string,
): string {
  return [session, turn, step, escaped(callId)].join("~");
}

/** Injective: different ids stay different. */
function escaped(callId: string): string {
  return callId.replaceAll(
    /[^\w.:@-]/g,
    (unit) => `=${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
