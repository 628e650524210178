/** What every contender is to the harness: a session that can be opened, spoken to, read and closed. */

import type { Script } from "./script.ts";

export interface Setting {
  /** A folder for whatever it keeps; the same one opens the session again. */
  readonly dir: string;
  readonly script: Script;
  /** One of several ways to set it up. */
  readonly variant: string;
}

export interface OpenSession {
  /** Says something and follows the answer to its end. */
  send(text: string): Promise<void>;
  /** What the next call would be told of the session, read by what the contender offers for that. */
  kept(): Promise<readonly unknown[]>;
  /** Resolves when everything is where it stays. */
  close(): Promise<void>;
}

/** The face of a contender's module. */
export interface ContenderModule {
  open(setting: Setting): Promise<OpenSession>;
}
