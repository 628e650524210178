/** The session that `--continue` goes on with. */

import { TurnlogError } from "../../events/index.ts";
import { listSessions } from "../../state/index.ts";
import { openSessions, type SessionsFolder } from "./store-folder.ts";

/**
 * The one of the store that was written to last, of those that are not closed.
 * @throws TurnlogError `SESSION_NOT_FOUND` where there is none, and as `openSessions`
 */
export async function lastSession(folder: SessionsFolder): Promise<string> {
  await using log = await openSessions(folder, { readOnly: true, withoutKey: "redact" });
  const found = await Array.fromAsync(listSessions(log));
  const [last] = found
    .filter(({ status }) => status !== "closed")
    .toSorted((one, other) => other.updatedAt - one.updatedAt);
  if (last !== undefined) return last.session;
  throw new TurnlogError(
    "SESSION_NOT_FOUND",
    `The store in ${folder.dir} has no session to go on with. Without --continue a new one is made.`,
  );
}
