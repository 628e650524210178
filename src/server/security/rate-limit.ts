/** Limits of one client: requests a minute, and answers that are open at once. */

import { TurnlogError } from "../../events/index.ts";

interface Client {
  minute: number;
  requests: number;
  open: number;
}

/** Counts requests and open answers by client: the actor that `authorize` names, else the token. */
export class RateLimit {
  readonly #limits: { readonly requestsPerMinute: number; readonly openAnswers: number };
  readonly #clock: () => number;
  readonly #clients = new Map<string, Client>();

  constructor(
    limits: { readonly requestsPerMinute: number; readonly openAnswers: number },
    clock: () => number,
  ) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Counts a request, whose answer is open until it is disposed of. @throws TurnlogError `TOO_MANY_REQUESTS` */
  enter(name: string): Disposable {
    const now = this.#clock();
    const minute = Math.floor(now / 60_000);
    const client = this.#client(name, minute);
    if (client.requests >= this.#limits.requestsPerMinute) {
      const retryAfterSeconds = ((minute + 1) * 60_000 - now) / 1000;
      throw tooMany(
        `More than ${this.#limits.requestsPerMinute} requests a minute came from one client.`,
        retryAfterSeconds,
      );
    }
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

  #client(name: string, minute: number): Client {
    const known = this.#clients.get(name);
    if (known?.minute === minute) return known;
    for (const [other, { minute: last, open }] of this.#clients)
      if (last !== minute && open === 0) this.#clients.delete(other);
    const client = known ?? { minute, requests: 0, open: 0 };
    client.minute = minute;
    client.requests = 0;
    this.#clients.set(name, client);
    return client;
  }
}

function tooMany(message: string, retryAfterSeconds: number): TurnlogError {
  return new TurnlogError("TOO_MANY_REQUESTS", message, { details: { retryAfterSeconds } });
}
