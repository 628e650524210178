/** Commands that move the head, wherever to and at any time: a running turn is cancelled first. */

import fc from "fast-check";
import { command, type Command } from "./command.ts";
import { unlessRefused } from "./haste.ts";
import { editId } from "./situation.ts";
import type { Stage } from "./stage.ts";

/** Asks something of the session for which the `place` decides which turn, branch or message it is about. */
type Act = (stage: Stage, place: number) => Promise<unknown>;

const acts: Readonly<Record<string, Act>> = {
  rewind: ({ session, situation }, place) =>
    session.rewind({ beforeTurn: 1 + (place % Math.max(1, situation.machine.context.turn)) }),
  "rewind and tell": ({ session, situation }, place) =>
    session.rewind({ beforeMessage: known(situation.accepted, place), tell: true }),
  checkout: ({ session, store }, place) => {
    const begun = store.events.flatMap(({ type, position }) =>
      type === "session.rewound" ? [position] : [],
    );
    return session.checkout([1, ...begun][place % (begun.length + 1)] ?? 1);
  },
  regenerate: ({ session, situation }, place) =>
    session.regenerate({
      ...(place % 2 === 0 ? {} : { messageId: known(situation.accepted, place) }),
      ...(place % 3 === 0 ? { idempotencyKey: `key-${place % 4}` } : {}),
    }),
  edit: ({ session, situation }, place) =>
    session.send("Otherwise.", {
      id: editId(situation, 10 + place),
      replaces: situation.lastTurn[place % 4] ?? known(situation.accepted, place),
    }),
};

function known(accepted: number, place: number): string {
  return `message-${1 + (place % Math.max(1, accepted))}`;
}

export const moveHead: fc.Arbitrary<Command> = fc
  .record({ name: fc.constantFrom(...Object.keys(acts)), place: fc.nat(11), deadly: fc.nat(9) })
  .map(({ name, place, deadly }) =>
    command(
      `${name} #${place}`,
      ({ situation }) => situation.accepted > 0 && !situation.machine.matches("closed"),
      async (stage) => {
        const act = acts[name];
        if (act === undefined) throw new Error(`There is no act ${name}.`);
        // Right before or right after one of its events.
        if (deadly < 3) stage.process.log.kill(deadly + 1);
        stage.ask(`cancel and ${name}`, unlessRefused(act(stage, place)));
        stage.ask("a look", stage.session.view());
        const { asked } = stage.process;
        await stage.until("a look", () => !asked.has("a look") || !stage.isAlive);
      },
    ),
  );
