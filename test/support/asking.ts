/** A message and its answer, and what a log has behind a position: short words for tests of whole turns. */

import type { EventType } from "../../src/events/index.ts";
import type { Session } from "../../src/public/index.ts";
import type { OpenSession } from "./with-runtime.ts";

/** Sends a message and answers what the model said in its turn. */
export async function ask(session: Session, text: string, id?: string): Promise<string> {
  const turn = await session.send(text, id === undefined ? {} : { id });
  return (await turn.result).text;
}

/** The types of a session's events behind a position. */
export async function typesBehind(
  { log }: Pick<OpenSession, "log">,
  session: string,
  position: number,
): Promise<readonly EventType[]> {
  return await Array.fromAsync(log.read(session, { from: position + 1 }), ({ type }) => type);
}
