// Sessions of every shape: turns of steps with parallel calls, reasoning, calls of the provider's own
// that are answered at once or a step later, failed tools, several messages delivered at once, steering, and a
// step that still runs.
import fc from "fast-check";
import { Session } from "./session.ts";

interface AnyStep {
  readonly outputs: readonly number[];
  readonly thinks: boolean;
  readonly own: "none" | "at-once" | "later";
  readonly steered: boolean;
  readonly fails: boolean;
}

export interface AnySession {
  readonly turns: readonly {
    readonly asked: number;
    /** How many more messages are delivered with the request. */
    readonly together: number;
    readonly steps: readonly AnyStep[];
  }[];
  /** Whether the last step still runs. */
  readonly open: boolean;
}

const step: fc.Arbitrary<AnyStep> = fc.record({
  outputs: fc.array(fc.nat(6000), { maxLength: 3 }),
  thinks: fc.boolean(),
  own: fc.constantFrom("none", "none", "at-once", "later"),
  steered: fc.boolean(),
  fails: fc.boolean(),
});

export const anySession: fc.Arbitrary<AnySession> = fc.record({
  turns: fc.array(
    fc.record({
      asked: fc.nat(300),
      together: fc.constantFrom(0, 0, 1, 2),
      steps: fc.array(step, { maxLength: 5 }),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  open: fc.boolean(),
});

const words = "the report says that nothing was found in the folder and that all is well ";

function text(length: number): string {
  return `${words.repeat(Math.ceil(length / words.length)).slice(0, length)}.`;
}

/** Plays it. `each` is called at every moment at which a prompt could be made. */
export function play(
  { turns, open }: AnySession,
  each: (session: Session) => void = () => undefined,
  session: Session = new Session(),
): Session {
  let later: string | undefined;
  for (const [index, { asked, together, steps }] of turns.entries()) {
    const more = Array.from({ length: together }, (_, other) => `And ${other}. ${text(asked)}`);
    session.ask(`Request ${index}. ${text(asked)}`, ...more);
    for (const [number, made] of steps.entries()) {
      each(session);
      session.start();
      if (later !== undefined) session.ownResult(later);
      later = made.own === "later" && number < steps.length - 1 ? `own${number}` : undefined;
      if (made.thinks) session.think("Let me see.");
      session.say(`Step ${number}.`);
      if (made.own !== "none") session.ownCall(`own${number}`);
      if (made.own !== "none" && later === undefined) session.ownResult(`own${number}`);
      for (const call of made.outputs.keys())
        session.call(`c${call}`, call === 1 ? "plan" : "read");
      session.finish({}, made.outputs.length > 0 ? "tool-calls" : "stop");
      for (const [call, length] of made.outputs.entries()) {
        if (made.fails && call === 0) session.failed(`c${call}`);
        else session.answer(`c${call}`, text(length));
      }
      if (made.steered) session.steer(`Also this, ${number}.`);
    }
    const isLast = index === turns.length - 1;
    if (isLast && open) {
      session.start();
      session.say("Still at it");
    } else {
      session.end();
    }
    each(session);
  }
  return session;
}
