/** Requests that make no sense, as commands: each is refused by name and leaves no trace in the log. */

import fc from "fast-check";
import { dropOldest } from "../../src/context/index.ts";
import { TurnlogError, type TurnlogErrorCode } from "../../src/events/index.ts";
import type { Session } from "../../src/runtime/index.ts";
import { command, type Command } from "./command.ts";
import type { Situation } from "./situation.ts";

/** What a session refuses, in words, and when. */
const refusals: readonly {
  readonly name: string;
  readonly when: (situation: Situation) => boolean;
  readonly ask: (session: Session, situation: Situation) => Promise<unknown>;
}[] = [
  {
    name: "approve a call that does not wait",
    when: () => true,
    ask: (session) => session.approve("nobody"),
  },
  {
    name: "answer a call that does not wait",
    when: () => true,
    ask: (session) => session.answerCall("nobody", { output: null }),
  },
  {
    name: "withdraw a message that does not wait",
    when: () => true,
    ask: (session) => session.withdraw("nothing"),
  },
  {
    name: "move a message that does not wait",
    when: () => true,
    ask: (session) => session.reschedule("nothing", "steer"),
  },
  { name: "close while a turn runs", when: isBusy, ask: (session) => session.close() },
  {
    name: "compact while a turn runs",
    when: isBusy,
    ask: (session) => session.compact(dropOldest({ keepTurns: 1 })),
  },
  { name: "send, closed", when: isClosed, ask: (session) => session.send("Hello?") },
  {
    name: "withdraw, closed",
    when: isClosed,
    ask: (session, { machine }) => session.withdraw(machine.context.queue[0]?.id ?? "nothing"),
  },
  { name: "resume, closed", when: isClosed, ask: (session) => session.resume() },
  {
    name: "compact, closed",
    when: isClosed,
    ask: (session) => session.compact(dropOldest({ keepTurns: 1 })),
  },
];

function isClosed({ machine }: Situation): boolean {
  return machine.matches("closed");
}

function isBusy({ machine }: Situation): boolean {
  return !machine.matches("idle") && !machine.matches("closed");
}

/** One of the requests that are refused in the situation. */
export const refused: fc.Arbitrary<Command> = fc.nat(9).map((place) =>
  command(
    `a request to refuse #${place}`,
    () => true,
    async (stage, { situation }) => {
      const fitting = refusals.filter(({ when }) => when(situation));
      const request = fitting[place % fitting.length];
      if (request === undefined) throw new Error("Nothing is refused here.");
      const before = stage.store.events.length;
      const wanted: TurnlogErrorCode = isClosed(situation) ? "SESSION_CLOSED" : "COMMAND_REFUSED";
      const answers: string[] = [];
      request.ask(stage.session, situation).then(
        () => answers.push("no error"),
        (error: unknown) => {
          answers.push(TurnlogError.isInstance(error) ? error.code : String(error));
        },
      );
      await stage.until(`an answer to ${request.name}`, () => answers.length > 0);
      const events = stage.store.events.length - before;
      if (answers[0] !== wanted || events > 0) {
        stage.problems.push(`${request.name}: ${answers[0]} and ${events} events.`);
      }
      return request.name;
    },
  ),
);
