/** Followers of a cluster: of one session over HTTP, of all sessions in the database. None may miss or repeat an event. */

import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import { createClient } from "../../src/client/index.ts";
import type { EventLog } from "../../src/events/index.ts";
import { eventually } from "../support/eventually.ts";
import type { Stored } from "./database-reader.ts";

interface Follower {
  /** Resolves when it has seen exactly what is stored, and fails if it saw anything else. */
  caughtUp(stored: Stored): Promise<void>;
}

export function followSession(baseUrl: string, session: string): Follower {
  const seen: string[] = [];
  const ending = new AbortController();
  const following = (async () => {
    while (!ending.signal.aborted) {
      try {
        const client = createClient({ baseUrl, token: "secret", silenceMs: 3000 });
        const events = client.session(session).events({
          from: seen.length + 1,
          signal: ending.signal,
        });
        for await (const { position, type, time } of events)
          seen.push(`${position} ${type} ${type.endsWith("-delta") ? "" : time}`);
      } catch {
        // The session does not exist yet, or the node cannot serve it now: another one is asked.
        await setTimeout(50);
      }
    }
  })();
  return {
    async caughtUp({ sessions }) {
      const stored = (sessions.get(session) ?? []).map(
        ({ position, type, time }) => `${position} ${type} ${type.endsWith("-delta") ? "" : time}`,
      );
      await eventually(() => {
        expect(seen.length).toBeGreaterThanOrEqual(stored.length);
      });
      ending.abort();
      await following;
      expect(seen).toEqual(stored);
    },
  };
}

export function followAll(log: EventLog): Follower {
  const seen = new Map<number, string>();
  const problems: string[] = [];
  void (async () => {
    for (let from = 1; ; from = Math.max(0, ...seen.keys()) + 1)
      try {
        for await (const { position, session, event } of log.subscribeAll({ from })) {
          const name = `${session}:${event.position}`;
          if (seen.has(position)) problems.push(name);
          seen.set(position, name);
        }
        return;
      } catch {
        // The server was down for longer than the log tries.
        await setTimeout(50);
      }
  })();
  return {
    async caughtUp({ order }) {
      await eventually(() => {
        expect(seen.size).toBeGreaterThanOrEqual(order.size);
      });
      expect([...seen]).toEqual([...order]);
      expect(problems).toEqual([]);
    },
  };
}
