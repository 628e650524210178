/** The list of sessions whose keys are about to be erased, saved in the key store until they are. */

import { z } from "zod";
import { assertKnownFormat } from "../../events/index.ts";
import { keyWrong } from "./key-errors.ts";
import { jsonOf, UNFINISHED, type KeyStore } from "./key-store.ts";

/** Not saved while it is the first. */
const FORMAT = 1;

const schema = z.object({
  turnlog: z.literal("unfinished-erasures"),
  sessions: z.array(z.string()),
});

export class UnfinishedErasures {
  readonly #keys: KeyStore;
  readonly #sessions = new Map<string, number>();
  #saving: Promise<void> = Promise.resolve();

  constructor(keys: KeyStore) {
    this.#keys = keys;
  }

  async load(): Promise<readonly string[]> {
    const text = await this.#keys.load(UNFINISHED);
    if (text === undefined) return [];
    const stored = jsonOf(text);
    assertKnownFormat("The list of unfinished erasures among the keys", stored, FORMAT);
    const read = schema.safeParse(stored);
    if (!read.success)
      throw keyWrong(UNFINISHED, undefined, "the list of unfinished erasures cannot be read");
    for (const session of read.data.sessions) this.#sessions.set(session, 1);
    return read.data.sessions;
  }

  async begin(session: string): Promise<void> {
    this.#sessions.set(session, (this.#sessions.get(session) ?? 0) + 1);
    await this.#save();
  }

  async end(session: string): Promise<void> {
    const left = (this.#sessions.get(session) ?? 1) - 1;
    if (left === 0) this.#sessions.delete(session);
    else this.#sessions.set(session, left);
    await this.#save();
  }

  async #save(): Promise<void> {
    const save = async (): Promise<void> => {
      const sessions = [...this.#sessions.keys()];
      if (sessions.length === 0) return await this.#keys.erase(UNFINISHED);
      const text = JSON.stringify({ turnlog: "unfinished-erasures", sessions });
      await this.#keys.save(UNFINISHED, text);
    };
    const saving = this.#saving.then(save);
    this.#saving = saving.catch(() => {});
    await saving;
  }
}
