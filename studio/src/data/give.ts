/** Gives a person's commands to the server. A refusal is kept apart from where it was given: that may be gone by then. */

import { createStore } from "@xstate/store";
import { messageOf } from "./client.ts";

interface Refusal {
  /** Of the last command; undefined if it was not refused, or the refusal was closed. */
  readonly words?: string;
}
const none: Refusal = {};

export const refusalStore = createStore({
  context: none,
  on: { changed: (_, { refusal = none }: { readonly refusal?: Refusal }) => refusal },
});

/** @returns whether it was carried out */
export async function give(command: () => Promise<unknown>): Promise<boolean> {
  refusalStore.trigger.changed({});
  try {
    await command();
    return true;
  } catch (error) {
    refused(error);
    return false;
  }
}

export function refused(error: unknown): void {
  refusalStore.trigger.changed({ refusal: { words: messageOf(error) } });
}
