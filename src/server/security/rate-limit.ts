/** Limits of one client: requests per minute, and answers that are open at the same time. */

import { TurnlogError } from "../../events/index.ts";

interface Client {
  minute: number;
  requests: number;
  open: number;
}

/** Counts requests and open answers by the name of a client. */
export class RateLimit {
  readonly #limits: { readonly requestsPerMinute: number; readonly openAnswers: number };
  readonly #clock: () => number;
  readonly #clients = new Map<string, Client>();
  #minute = 0;

  constructor(
    limits: { readonly requestsPerMinute: number; readonly openAnswers: number },
    clock: () => number,
  ) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * Counts a request. Its answer is open until the returned object is disposed of. @throws TurnlogError
   * `TOO_MANY_REQUESTS`
   */
  enter(name: string): Disposable {
    const client = this.#within(name);
    if (client.open >= this.#limits.openAnswers)
      throw tooMany(`One client has ${client.open} open answers. Close streams first.`, 5);
    client.requests++;
    client.open++;
    let isOpen = true;
    return {
      [Symbol.dispose]: () => {
        if (isOpen) client.open--;
        isOpen = false;
      },
    };
  }

  /** Whether the client may send another request, which is not counted yet. @throws TurnlogError `TOO_MANY_REQUESTS` */
  assertMay(name: string): void {
    this.#within(name);
  }

  #within(name: string): Client {
    const now = this.#clock();
    const minute = Math.floor(now / 60_000);
    const client = this.#client(name, minute);
    if (client.requests < this.#limits.requestsPerMinute) return client;
    const retryAfterSeconds = ((minute + 1) * 60_000 - now) / 1000;
    throw tooMany(
      `One client sent more than ${this.#limits.requestsPerMinute} requests in a minute.`,
      retryAfterSeconds,
    );
  }

  #client(name: string, minute: number): Client {
    const known = this.#clients.get(name);
    if (known?.minute === minute) return known;
    if (this.#minute !== minute) this.#forget(minute);
    const client = known ?? { minute, requests: 0, open: 0 };
    client.minute = minute;
    client.requests = 0;
    this.#clients.set(name, client);
    return client;
  }

  /** Once a minute: many new names must not cost a look at all of them each. */
  #forget(minute: number): void {
    this.#minute = minute;
    for (const [other, { minute: last, open }] of this.#clients)
      if (last !== minute && open === 0) this.#clients.delete(other);
  }
}

function tooMany(message: string, retryAfterSeconds: number): TurnlogError {
  return new TurnlogError("TOO_MANY_REQUESTS", message, { details: { retryAfterSeconds } });
}
