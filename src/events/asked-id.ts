/** The id of a call that somebody is asked about. Pure; pages use it too. */

/** No other session, turn, step or call has this id. URLs, shells and file names need no escape for it. */
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
