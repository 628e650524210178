/**
 * Delivers a command to a session, wherever it runs: nowhere (then this process changes the stored session), in
 * another process of its folder or database, or on a server. The command line does not know which.
 */

import { defined, type EventLog, type TurnlogError } from "../../events/index.ts";
import { deletedSchema, deleteSession, type DeletedWithBlobs } from "../../media/index.ts";
import { encryptedLog } from "../../store/encryption/index.ts";
import { changeStored, giveStored, keepingBill, readAnswer } from "../../runtime/index.ts";
import {
  keysIn,
  openSessions,
  ownerOf,
  type SessionsPlace,
  type SessionsUse,
} from "./store-folder.ts";

export interface SessionPort extends AsyncDisposable {
  /** For reading. */
  readonly log: EventLog;
  /**
   * Gives a command by its name in the catalogue.
   * @returns its answer as JSON
   * @throws TurnlogError as the command
   */
  post(session: string, name: string, args: readonly unknown[]): Promise<unknown>;
  /** @param warn - Is told what could not be removed with the session. @throws TurnlogError as `Runtime.delete` */
  delete(
    session: string,
    how: { readonly forks: "refuse" | "copy"; readonly cancel: boolean },
    warn: (error: TurnlogError) => void,
  ): Promise<DeletedWithBlobs>;
}

/** @param elsewhere - Advice for a store that another process has open and does not share. */
export async function openPort(
  place: SessionsPlace,
  { readOnly = false, ...use }: Partial<SessionsUse>,
): Promise<SessionPort> {
  const owner = await ownerOf(place);
  if (owner !== undefined) {
    const { withoutKey = "refuse" } = use;
    return {
      log: encryptedLog(owner.log, keysIn(place.keys, place.dir), { withoutKey }),
      post: async (session, name, args) => {
        const client = owner.client.session(session);
        const method: unknown = Reflect.get(client, name);
        if (typeof method !== "function") throw new TypeError(`No client has the command ${name}.`);
        const answer: unknown = await Reflect.apply(method, client, args);
        return answer;
      },
      delete: async (session, { forks, cancel }) => {
        const path = `/api/sessions/${encodeURIComponent(session)}`;
        const query = { forks, ...(cancel && { cancel: "true" }) };
        return await owner.client.http.json({ method: "DELETE", path, query });
      },
      [Symbol.asyncDispose]: async () => {},
    };
  }
  const log = await openSessions(place, { ...use, readOnly });
  return {
    log,
    post: (session, name, args) => giveStored(log, session, name, args),
    delete: async (session, { forks, cancel }, warn) =>
      await changeStored(
        log,
        session,
        {
          name: "delete",
          args: [cancel ? { forks, cancel } : { forks }],
          read: (answer) => readAnswer(deletedSchema, session, "delete", answer),
        },
        () =>
          keepingBill(log, session, warn, (spent) =>
            deleteSession(log, log.blobs, session, defined({ forks, spent }), warn),
          ),
      ),
    [Symbol.asyncDispose]: () => log.close(),
  };
}
