/** What cuts a session's life short or puts it to sleep, as commands, and a client that repeats itself. */

import fc from "fast-check";
import type { RecoveryPolicy } from "../../src/events/index.ts";
import { command, reopen, type Command } from "./command.ts";
import { endProcess } from "./finale.ts";
import { IDLE_MS, time } from "./held-time.ts";
import { isAtRest } from "./possible-moves.ts";

const policy: fc.Arbitrary<RecoveryPolicy> = fc.constantFrom("stop", "continue");

/** SIGKILL now. */
export const crash: fc.Arbitrary<Command> = policy.map((next) =>
  command(
    `crash, ${next}`,
    () => true,
    async (stage) => {
      stage.nextPolicy = next;
      stage.process.log.kill();
    },
  ),
);

/** SIGKILL in the middle of what comes next: after so many more events of any kind. */
export const crashSoon: fc.Arbitrary<Command> = fc
  .record({
    events: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 4, max: 15 })),
    next: policy,
  })
  .map(({ events, next }) =>
    command(
      `crash after ${events} more, ${next}`,
      () => true,
      async (stage) => {
        stage.nextPolicy = next;
        stage.process.log.kill(events);
      },
    ),
  );

/** The runtime is closed as it should be, and another one opens the store. */
export const closeAndReopen: fc.Arbitrary<Command> = policy.map((next) =>
  command(
    `close and reopen, ${next}`,
    () => true,
    async (stage) => {
      stage.nextPolicy = next;
      await endProcess(stage);
      if (stage.isAlive) await reopen(stage);
    },
  ),
);

/** The program appends an event of its own, whatever the session does; it may come again under its id. */
export const note: fc.Arbitrary<Command> = fc.nat(3).map((n) =>
  command(
    `note ${n}`,
    ({ situation }) => !situation.machine.matches("closed"),
    async (stage) => {
      stage.ask(`note ${n}`, stage.session.append("app.noted", { n }, { id: `note-${n}` }));
    },
  ),
);

/** Nobody uses the session for so long that it is let go of. */
export const sleep: fc.Arbitrary<Command> = fc.constant("sleep").map((name) =>
  command(
    name,
    ({ situation }) => isAtRest(situation),
    async () => time.pass(IDLE_MS),
  ),
);

/** A client that has not heard the answer says the same again. */
export const sayAgain: fc.Arbitrary<Command> = fc.nat(3).map((place) =>
  command(
    `say message ${place + 1} again`,
    ({ situation }) => situation.accepted > place && !situation.machine.matches("closed"),
    async (stage, { situation: { machine } }) => {
      const id = `message-${place + 1}`;
      const { held, queue } = machine.context;
      const wakes = machine.matches("idle") && held && queue.some((message) => message.id === id);
      const before = stage.situations.length;
      const what = `message ${id} again`;
      const said = stage.store.events.find(
        (event) => event.type === "message.queued" && event.data.id === id,
      );
      const content = said?.type === "message.queued" ? said.data.content : "";
      stage.ask(what, stage.session.send(content, { id }));
      await stage.until("an answer", () => !stage.process.asked.has(what) || !stage.isAlive);
      const events = stage.situations.length - before;
      if (stage.isAlive && events > 0 !== wakes) {
        stage.problems.push(`Said again, ${id} led to ${events} events.`);
      }
    },
  ),
);
