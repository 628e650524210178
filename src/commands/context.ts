/** The commands about a session's prompt: `compact` and `restore`. Pure. */

import { z } from "zod";
import { defined } from "../events/index.ts";
import { strategySchema } from "../agent/index.ts";
import { position } from "../validation/index.ts";
import { eventCommand, runtimeCommand, type Command } from "./command.ts";
import { assertIdle, refusal } from "./target.ts";
import type { CompactOptions } from "./options.ts";
import { asGiven, by, optional, options } from "./parameters.ts";

export const contextCommands: readonly Command[] = [
  runtimeCommand({
    name: "compact",
    parameters: [
      optional("strategy", strategySchema, { own: asGiven, isLocal: true }),
      options<CompactOptions>({ fields: { by } }),
    ],
    permission: "compact",
    route: {
      method: "post",
      path: "/compact",
      summary: "Compacts the context between turns, by the agent's strategy. Returns the event.",
    },
    answer: {
      kind: "json",
      schema: z.lazy(() => z.looseObject({ type: z.string(), position: z.int() })),
    },
    recorded: (event) => {
      // An automatic compaction follows from the size of the prompt.
      if (event.type !== "context.compaction-started" || event.data.trigger !== "asked")
        return undefined;
      return ({ strategy }) => {
        const recorded = strategy(event);
        return recorded && [recorded, defined({ by: event.data.by })];
      };
    },
  }),
  eventCommand({
    name: "restore",
    parameters: [optional<number>("position", position)],
    permission: "compact",
    route: {
      method: "post",
      path: "/restore",
      summary: "Undoes the pruning, cut or compaction at a position. Default: the newest.",
    },
    decide: (target, given) => {
      assertIdle(target, "restore");
      const { compactions, prunings, cuts, omissions, reductions = [] } = target.state.view;
      const activeCuts = cuts.filter(({ undone }) => undone !== true);
      const changes = [...compactions, ...prunings, ...activeCuts, ...omissions, ...reductions];
      const positions = changes.map((change) => change.position);
      const at = given ?? Math.max(0, ...positions);
      if (positions.includes(at)) return [{ type: "context.restored", data: { position: at } }];
      throw refusal(
        target,
        "restore",
        given === undefined
          ? "nothing is pruned, cut, left out or compacted"
          : `nothing was pruned, cut, left out or compacted at position ${at}, or it is already undone`,
      );
    },
    recorded: (event) =>
      event.type === "context.restored" ? () => [event.data.position] : undefined,
  }),
];
