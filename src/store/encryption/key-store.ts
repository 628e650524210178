/** The port of key stores: the keys of encrypted sessions, kept outside of the log. */

import { TurnlogError } from "../../events/index.ts";
import { isWithin } from "../folder/index.ts";
/** The one name that is not a session's, and cannot be. */
export const UNFINISHED = "-unfinished";

/**
 * Stores keys by session id, and `-unfinished`: a folder ({@link folderKeys}), memory, or your own
 * implementation, for example over a key management service. `keyStoreContract` in `turnlog/testing`
 * checks the promises.
 * @example
 * const keys: KeyStore = {
 *   load: async (id) => await vault.get(id),
 *   save: async (id, key) => await vault.set(id, key),
 *   erase: async (id) => await vault.delete(id),
 * };
 */
export interface KeyStore {
  /** The folder with the keys, if there is one: it must not be inside the store. */
  readonly folder?: string;
  /** The text that was saved last under a name; undefined if there is none. */
  load(session: string): Promise<string | undefined>;
  /**
   * Saves a text of some hundred bytes to some hundred kilobytes. Once this resolves, it survives a power
   * cut, and the former text cannot be recovered. If the process dies before that, one of the two texts remains,
   * complete.
   */
  save(session: string, key: string): Promise<void>;
  /** Permanently erases the text of a name. Does nothing if there is none. */
  erase(session: string): Promise<void>;
}

/**
 * Keys in memory, for tests.
 * @example
 * const runtime = await createRuntime({ memory: true, agent, encryption: { keys: memoryKeys() } });
 */
export function memoryKeys(): KeyStore {
  const keys = new Map<string, string>();
  return {
    load: async (session) => keys.get(session),
    save: async (session, key) => void keys.set(session, key),
    erase: async (session) => void keys.delete(session),
  };
}

/** Reads from other keys, and keeps changes in memory. */
export function unsavedKeys(keys: KeyStore): KeyStore {
  const changed = new Map<string, string | undefined>();
  return {
    ...(keys.folder === undefined ? {} : { folder: keys.folder }),
    load: async (session) =>
      changed.has(session) ? changed.get(session) : await keys.load(session),
    save: async (session, key) => void changed.set(session, key),
    erase: async (session) => void changed.set(session, undefined),
  };
}

/** Runs work under a name when all earlier work under it has ended. */
type Lines = <Result>(name: string, act: () => Promise<Result>) => Promise<Result>;

export function keyLines(): Lines {
  const lines = new Map<string, Promise<unknown>>();
  return async (name, act) => {
    const acting = (lines.get(name) ?? Promise.resolve()).then(act);
    const settled = acting.catch(() => {});
    lines.set(name, settled);
    try {
      return await acting;
    } finally {
      if (lines.get(name) === settled) lines.delete(name);
    }
  };
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** `dir`: the folder of the store, if it has one. @throws TurnlogError `INVALID_INPUT` */
export function assertKeysOutside({ folder }: KeyStore, dir: string | undefined): void {
  if (folder === undefined || dir === undefined || !isWithin(dir, folder)) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `The keys must be outside the store (${folder} is in ${dir}), since a copy of the store would contain them. Name a folder outside it.`,
    { details: { folder, dir } },
  );
}

// Errors for a missing or a wrong key.

/** @param session - The session with the encrypted events, if it is known. */
export function keyMissing(session: string | undefined, position?: number): TurnlogError {
  return new TurnlogError(
    "KEY_MISSING",
    `${session === undefined ? "The session" : `Session ${session}`} is encrypted, and its key is missing. Give the keys that it was written with (\`encryption: { keys }\`, \`encryptedLog(log, keys)\`; \`--keys <folder>\` or TURNLOG_KEYS on the command line).`,
    {
      ...(session === undefined ? {} : { session }),
      ...(position === undefined ? {} : { position }),
    },
  );
}

export function keyWrong(session: string, position: number | undefined, why: string): TurnlogError {
  const place = position === undefined ? session : `${session}:${position}`;
  return new TurnlogError(
    "KEY_WRONG",
    `The key of session ${session} does not fit (${place}): ${why}.`,
    position === undefined ? { session } : { session, position },
  );
}
