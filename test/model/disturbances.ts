/** What cuts a session's life short or puts it to sleep, as commands, and a client that repeats itself. */

import fc from "fast-check";
import type { RecoveryPolicy } from "../../src/events/index.ts";
import { command, reopen, type Command, type Known } from "./command.ts";
import { endProcess } from "./finale.ts";
import { FAR, IDLE_MS, SOON_MS, time } from "./held-time.ts";
import { isAtRest } from "./possible-moves.ts";
import { idleTool } from "./process.ts";
import { laterId } from "./situation.ts";
import type { Stage } from "./stage.ts";

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

/** Waits until what was asked is in the log. */
async function recorded(stage: Stage, what: string, answer: Promise<unknown>): Promise<void> {
  const before = stage.situations.length;
  stage.ask(what, answer);
  await stage.until(what, () => stage.situations.length > before || !stage.isAlive);
}

/** A message is sent for later: for a time that no test reaches, or one that comes when a test lets it. */
export const sendLater: fc.Arbitrary<Command> = fc.integer({ min: 0, max: 2 }).map((waits) =>
  command(
    `send for later, ${waits}`,
    ({ situation: { machine } }) => !machine.matches("closed") && machine.context.later.length < 3,
    async (stage, { situation }) => {
      const id = laterId(situation);
      const notBefore = waits === 0 ? FAR : new Date(Date.now() + waits * SOON_MS);
      await recorded(stage, `send ${id}`, stage.session.send(`Later: ${id}.`, { id, notBefore }));
      return `send ${id} for ${waits === 0 ? "a time that does not come" : `in ${waits}`}`;
    },
  ),
);

/** Time passes: the runtime delivers what is due, the next process what became due in between. */
export const letTimePass: fc.Arbitrary<Command> = fc.constant("let time pass").map((name) =>
  command(
    name,
    ({ situation: { machine } }) => machine.context.later.length > 0,
    async () => time.pass(SOON_MS),
  ),
);

/** The agent gets another tool, which nobody calls, or loses it. The next process has the first agent again. */
export const configure: fc.Arbitrary<Command> = fc.boolean().map((isMore) =>
  command(
    `configure, ${isMore ? "one tool more" : "as before"}`,
    ({ situation: { machine } }) => machine.matches({ idle: "waiting" }),
    async (stage) => {
      const { tools } = stage.process.tools;
      const changed = isMore ? { ...tools, idle: idleTool } : tools;
      stage.ask("configure", stage.session.configure({ tools: changed }));
    },
  ),
);

/** The program notes something about the session. */
export const setMetadata: fc.Arbitrary<Command> = fc.nat(3).map((n) =>
  command(
    `metadata ${n}`,
    ({ situation }) => !situation.machine.matches("closed"),
    async (stage) => {
      stage.ask(`metadata ${n}`, stage.session.setMetadata({ n }));
    },
  ),
);

/** The time of a message for later has come, or it is taken back; or one that waits is put off. */
export const moveLater: fc.Arbitrary<Command> = fc
  .record({ act: fc.constantFrom("due", "due", "withdraw", "put off"), place: fc.nat(2) })
  .map(({ act, place }) => {
    const chosen = ({ situation: { machine } }: Known): string | undefined => {
      const { later, queue } = machine.context;
      const ids = act === "put off" ? queue.map(({ id }) => id) : later;
      return machine.matches("closed") ? undefined : ids[place % Math.max(1, ids.length)];
    };
    return command(
      `${act} #${place}`,
      (known) => chosen(known) !== undefined,
      async (stage, known) => {
        const id = chosen(known) ?? "";
        const { session } = stage;
        const acts = {
          due: () => session.reschedule(id, { notBefore: new Date(0) }),
          withdraw: () => session.withdraw(id),
          "put off": () => session.reschedule(id, { notBefore: FAR }),
        };
        await recorded(stage, `${act} ${id}`, acts[act]());
        return `${act} ${id}`;
      },
    );
  });

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
