/**
 * A chain of SHA-256 over a session's events. A link says the digest of all events since the link
 * before it, with that one and its digest among them, so that no event can be changed, left out or put in
 * without another digest for every link behind it. Written by the session, checked by `verify`. Pure.
 */

import { createHash, type Hash } from "node:crypto";
import { canonicalJson, jsonObjectSchema } from "./json.ts";
import type { NewEvent, SessionEvent } from "./catalogue.ts";
import { loggedForm } from "./stored-form.ts";

/** An event that says a digest. The event that closes a session is its last link. */
export type ChainLink = SessionEvent<"session.chained" | "session.closed">;

/** Where a chain ends, to be kept outside of the store and compared later. */
export interface ChainEnd {
  readonly position: number;
  /** Hexadecimal SHA-256. */
  readonly digest: string;
}

/** Text that is hashed at once: an update for each delta costs more than hashing it. */
const PIECE = 16 * 1024;

/** The digest that an event says, where it is a link. */
export function digestIn(event: NewEvent): string | undefined {
  const { type, data } = event;
  return type === "session.chained" || type === "session.closed" ? data.digest : undefined;
}

/** Follows a session's events and says which digest the next link of its hash chain must have. */
export class HashChain {
  #hash: Hash = createHash("sha256");
  #text = "";
  #end: ChainEnd | undefined;
  #open = 0;

  /** The last link; undefined before the first. */
  get end(): ChainEnd | undefined {
    return this.#end;
  }

  /** How many events have come since the last link. */
  get open(): number {
    return this.#open;
  }

  /** The digest that a link has to say which comes next. What it says itself does not count. */
  digest(link: ChainLink): string {
    this.#update();
    return this.#hash
      .copy()
      .update(lineOf(link, without(link)))
      .digest("hex");
  }

  /** Goes on behind an event: the next one of the session. */
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

/** What is hashed of an event, and all of it: canonical JSON, then a line end. */
function lineOf(event: SessionEvent, data: unknown): string {
  const { position, time: at, id } = event;
  const { type, version } = loggedForm(event);
  const fields = [position, at, type, version, data];
  return `${canonicalJson(id === undefined ? fields : [...fields, id])}\n`;
}

function without(link: ChainLink): unknown {
  const { digest: _, ...rest } = jsonObjectSchema.parse(loggedForm(link).data);
  return rest;
}
