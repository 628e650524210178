/** The id of a call that somebody is asked about. Pure; pages use it too. */

import { fromSegment, segmentOf } from "./segment.ts";

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
