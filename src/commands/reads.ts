/** What is read of a session: its state, its prompt, its figures, its events. Nothing is recorded. Pure. */

import { z } from "zod";
import { strategySchema } from "../agent/index.ts";
import type { BillOptions } from "../bill/index.ts";
import { whatIfSchema } from "../context/index.ts";
import {
  code,
  flag,
  implementation,
  name,
  oneOf,
  position,
  shortName,
  thing,
} from "../validation/index.ts";
import { runtimeCommand, type Command, type Route } from "./command.ts";
import type { EventsOptions, PositionOptions, PreviewOptions, RestOptions } from "./options.ts";
import { asGiven, options, required } from "./parameters.ts";

const version = thing("a whole number", Number.isSafeInteger);
const projectionSchema = implementation(
  { name, version, follows: oneOf("branch", "log"), fold: code },
  {},
);
export const signal: z.ZodType = implementation({ addEventListener: code }, { aborted: flag });
const at = options<PositionOptions>({ fields: { position } });
const atRest = options<RestOptions>({ fields: { signal } });
const projection = required("projection", projectionSchema, { own: asGiven, isLocal: true });
const view = z.lazy(() => z.looseObject({ session: z.string(), position: z.int() }));
const anything = z.lazy(() => z.looseObject({}));

function get(path: string, summary: string): Route {
  return { method: "get", path, summary };
}

type Read = Pick<Command, "name" | "parameters" | "route" | "answer"> & {
  readonly isForwarded?: boolean;
};

function read(described: Read): Command {
  return runtimeCommand({ permission: "read", isForwarded: false, ...described });
}

export const reads: readonly Command[] = [
  read({
    name: "view",
    parameters: [],
    route: get("", "The session now, or as it was at a position."),
    answer: { kind: "json", schema: view },
  }),
  read({
    name: "at",
    parameters: [required<number>("position", position)],
    route: get("", "The session now, or as it was at a position."),
    answer: { kind: "json", schema: view },
  }),
  read({
    name: "diff",
    parameters: [required<number>("before", position), required<number>("after", position)],
    route: get("/diff", "The difference between the prompts at two positions."),
    answer: { kind: "json", schema: anything },
  }),
  // The figures and the preview need the agent, which the process that runs the session has.
  read({
    name: "context",
    parameters: [at],
    route: get(
      "/context",
      "The size of the next prompt, its parts, the limits, and what was spent.",
    ),
    answer: { kind: "json", schema: anything },
    isForwarded: true,
  }),
  read({
    name: "bill",
    parameters: [options<BillOptions>({ fields: { position, whatIf: whatIfSchema } })],
    route: get("/bill", "What the session paid, for what, and why the cache missed."),
    answer: { kind: "json", schema: anything },
    isForwarded: true,
  }),
  read({
    name: "preview",
    parameters: [
      options<PreviewOptions>({
        fields: { position, compact: strategySchema },
        local: ["compact"],
      }),
    ],
    route: get("/compact", "The prompt that a compaction would leave. Writes nothing."),
    answer: { kind: "json", schema: z.lazy(() => z.looseObject({ outcome: z.string() })) },
    isForwarded: true,
  }),
  read({
    name: "branches",
    parameters: [],
    route: { ...get("/branches", "The branches of the session, oldest first."), audience: "user" },
    answer: {
      kind: "list",
      of: z.lazy(() => z.looseObject({ id: z.int(), active: z.boolean() })),
    },
  }),
  read({
    name: "subAgents",
    parameters: [],
    route: get("/sub-agents", "The sessions that run the calls of sub-agents, and what they used."),
    answer: { kind: "json", schema: anything },
    isForwarded: true,
  }),
  read({
    name: "turn",
    parameters: [required<string>("messageId", shortName)],
    answer: { kind: "local" },
  }),
  read({
    name: "events",
    parameters: [options<EventsOptions>({ fields: { from: position, signal, subAgent: name } })],
    answer: { kind: "sequence" },
  }),
  read({ name: "project", parameters: [projection, at], answer: { kind: "local" } }),
  read({ name: "follow", parameters: [projection, atRest], answer: { kind: "sequence" } }),
  read({ name: "idle", parameters: [], answer: { kind: "local" } }),
  read({ name: "atRest", parameters: [atRest], answer: { kind: "local" } }),
];
