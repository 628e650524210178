/** The commands that move the head of a session: `rewind` and `checkout`. Pure. */

import type { SessionEvent } from "../events/index.ts";
import { flag, position, shortName, thing } from "../validation/index.ts";
import { moveCommand, type Answer, type Command } from "./command.ts";
import { basedOn } from "./head.ts";
import type { MoveOptions, RewindOptions } from "./options.ts";
import { by, options, required, requiredOptions } from "./parameters.ts";
import { checkout, rewind, rewoundSchema } from "./rewinding.ts";

const answer: Answer = { kind: "json", schema: rewoundSchema };
const places = ["to", "beforeTurn", "beforeMessage"] as const;

/** Of a recorded move that neither an edit nor a regeneration made. */
function movedHead(event: SessionEvent): SessionEvent<"session.rewound">["data"] | undefined {
  if (event.type !== "session.rewound") return undefined;
  const { again, edit } = event.data;
  return again === undefined && edit === undefined ? event.data : undefined;
}

export const branchCommands: readonly Command[] = [
  moveCommand({
    name: "rewind",
    parameters: [
      requiredOptions<RewindOptions>({
        fields: {
          to: position,
          beforeTurn: position,
          beforeMessage: shortName,
          tell: flag,
          basedOn,
          by,
        },
        and: thing("an object with one of `to`, `beforeTurn` and `beforeMessage`", (value) => {
          const given = places.filter((place) => Reflect.get(Object(value), place) !== undefined);
          return given.length === 1;
        }),
      }),
    ],
    permission: "rewind",
    route: {
      method: "post",
      path: "/rewind",
      summary: "Goes back to the end of an earlier turn; later events stay in the log.",
    },
    answer,
    seen: ({ basedOn: seen }) => seen,
    decide: (target, { tell, by: who, basedOn: _, ...place }) =>
      rewind(target, place, { tell, by: who }),
    recorded: (event) => {
      const moved = movedHead(event);
      return moved === undefined || moved.branch !== undefined
        ? undefined
        : () => [{ to: moved.to, tell: moved.note !== undefined }];
    },
  }),
  moveCommand({
    name: "checkout",
    parameters: [
      required<number>("branch", position),
      options<MoveOptions>({ fields: { tell: flag, basedOn, by } }),
    ],
    permission: "rewind",
    route: { method: "post", path: "/checkout", summary: "Makes another branch the active one." },
    answer,
    seen: (_, { basedOn: seen } = {}) => seen,
    decide: (target, branch, { tell, by: who } = {}) => checkout(target, branch, { tell, by: who }),
    recorded: (event) => {
      const { branch, note } = movedHead(event) ?? {};
      return branch === undefined ? undefined : () => [branch, { tell: note !== undefined }];
    },
  }),
];
