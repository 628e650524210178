/** Where the keys of encrypted sessions are kept: outside of the log, by whoever runs it. */

/** The one name beside those of sessions: no session can have it. */
export const UNFINISHED = "-unfinished";

/**
 * Names are those of sessions, and `-unfinished`. A port: a folder ({@link folderKeys}), memory, or your own, as over a service that encrypts what it
 * is given. `keyStoreContract` in `turnlog/testing` checks what it promises.
 */
export interface KeyStore {
  /** Where it keeps them on this machine, if it does: a store that lies around it is refused. */
  readonly folder?: string;
  /** What was saved last under a name; undefined where nothing is. */
  load(session: string): Promise<string | undefined>;
  /**
   * Saves a text of some hundred bytes to some hundred kilobytes. When this resolves it survives a
   * power cut, and what was there under the name before cannot be had any more. A process that dies
   * meanwhile leaves one of the two, whole.
   */
  save(session: string, key: string): Promise<void>;
  /** Takes away what there is, for good. Does nothing where there is nothing. */
  erase(session: string): Promise<void>;
}

/** Keys that end with the process, for tests. */
export function memoryKeys(): KeyStore {
  const keys = new Map<string, string>();
  return {
    load: async (session) => keys.get(session),
    save: async (session, key) => void keys.set(session, key),
    erase: async (session) => void keys.delete(session),
  };
}

/** Keys over others, which are read and never changed: what is saved and erased here is so in memory alone. */
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

/** What is kept is JSON; undefined where it is not. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
