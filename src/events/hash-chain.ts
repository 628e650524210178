/**
 * A chain of SHA-256 over a session's events: each link has the digest of all events since the last link,
 * that link included. A changed, removed or added event changes every later digest. Pure.
 */

import { createHash, type Hash } from "node:crypto";
import { canonicalJson, jsonObjectSchema } from "./json.ts";
import type { NewEvent, SessionEvent } from "./catalogue.ts";
import { loggedForm } from "./stored-form.ts";

/** An event with a digest. `session.closed` is the last link. */
export type ChainLink = SessionEvent<"session.chained" | "session.closed">;

/** The end of a chain, to be kept outside of the store and compared later. */
export interface ChainEnd {
  readonly position: number;
  readonly digest: string;
}

/** Characters that are hashed at once: an update for each delta costs more than hashing it. */
const PIECE = 16 * 1024;

export function digestIn(event: NewEvent): string | undefined {
  const { type, data } = event;
  return type === "session.chained" || type === "session.closed" ? data.digest : undefined;
}

export class HashChain {
  #hash: Hash = createHash("sha256");
  #text = "";
  #end: ChainEnd | undefined;
  #open = 0;

  get end(): ChainEnd | undefined {
    return this.#end;
  }

  get open(): number {
    return this.#open;
  }

  /** The digest for the next link. The link's own digest is not hashed. */
  digest(link: ChainLink): string {
    this.#update();
    return this.#hash
      .copy()
      .update(lineOf(link, without(link)))
      .digest("hex");
  }

  take(event: SessionEvent): void {
    const digest = digestIn(event);
    if (digest === undefined) this.#open += 1;
    else {
      this.#hash = createHash("sha256");
      this.#text = "";
      this.#end = { position: event.position, digest };
      this.#open = 0;
    }
    this.#text += lineOf(event, loggedForm(event).data);
    if (this.#text.length >= PIECE) this.#update();
  }

  #update(): void {
    if (this.#text !== "") this.#hash.update(this.#text);
    this.#text = "";
  }
}

/** The hashed text of an event: canonical JSON of all its fields, then a line end. */
function lineOf(event: SessionEvent, data: unknown): string {
  const { position, time, id } = event;
  const { type, version } = loggedForm(event);
  const fields = [position, time, type, version, data];
  return `${canonicalJson(id === undefined ? fields : [...fields, id])}\n`;
}

function without(link: ChainLink): unknown {
  const { digest: _, ...rest } = jsonObjectSchema.parse(loggedForm(link).data);
  return rest;
}
