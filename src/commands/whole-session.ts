/** The commands about a session as a whole: its agent, its metadata, its end, its forks, its own events. Pure. */

import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import {
  defined,
  isAppEvent,
  TurnlogError,
  type JsonObject,
  type PositionRange,
} from "../events/index.ts";
import type { Redacted, RedactOptions } from "../archive/index.ts";
import { deletedSchema } from "../media/index.ts";
import { toJson } from "../shared/index.ts";
import { isInTurn } from "../state/index.ts";
import { flag, name, oneOf, optionsOf, position, text, thing } from "../validation/index.ts";
import { eventCommand, runtimeCommand, type Command } from "./command.ts";
import { assertIdle, assertNotClosed } from "./target.ts";
import type {
  AgentChanges,
  AppendOptions,
  DeletionOptions,
  ForkOptions,
  PersonOptions,
  RerunOptions,
} from "./options.ts";
import {
  anything,
  by,
  optional,
  options,
  required,
  requiredOptions,
  unchecked,
} from "./parameters.ts";

/** Small enough for the row of a list. */
const METADATA_BYTES = 16_384;
const plainObject = z.lazy(() => z.record(z.string(), z.json()));
export const metadataSchema: z.ZodType = thing(
  "an object of JSON values, at most 16 KiB",
  (value) =>
    plainObject.safeParse(value).success &&
    Buffer.byteLength(JSON.stringify(value)) <= METADATA_BYTES,
).meta({ type: "object" });

export function shortText(most: number): z.ZodType {
  const fits = (value: unknown): boolean =>
    typeof value === "string" && value.length > 0 && value.length <= most;
  return thing(`a text of 1 to ${most} characters`, fits);
}

const rangeSchema = optionsOf<PositionRange>({}, { from: position, to: position });
/** One place whose content is redacted, or a list. */
export const redactedSchema: z.ZodType = thing(
  "a position, an object with `from` and `to`, or a list of such",
  (value) => (Array.isArray(value) ? value : [value]).every(isTarget),
);

function isTarget(value: unknown): boolean {
  return position.safeParse(value).success || rangeSchema.safeParse(value).success;
}

/** `prepareAgent` checks these. */
const agentChanges = { agent: anything, model: anything, instructions: anything, tools: anything };
const localChanges = ["agent", "model", "instructions", "tools"] as const;

const short = shortText(256);
const person = options<PersonOptions>({ fields: { by } });

const range = z.lazy(() => z.object({ from: z.int(), to: z.int() }));
/** What a redaction answers. */
export const redactionSchema: z.ZodType<Redacted> = z.lazy(() =>
  z.object({
    session: z.string(),
    position: z.int().exactOptional(),
    ranges: z.array(range),
    summaries: z.array(z.int()),
  }),
);

export const redaction: Command = runtimeCommand({
  name: "redact",
  parameters: [
    required("what", redactedSchema),
    options<RedactOptions>({ fields: { reason: text, by } }),
  ],
  permission: "redact",
  route: {
    method: "post",
    path: "/redact",
    summary: "Permanently redacts the content at positions. Needs a store that is encrypted.",
  },
  answer: { kind: "json", schema: redactionSchema },
});

export const wholeSessionCommands: readonly Command[] = [
  runtimeCommand({
    name: "configure",
    parameters: [
      requiredOptions<AgentChanges>({
        name: "changes",
        fields: agentChanges,
        local: ["model", "instructions", "tools"],
        sent: { agent: name },
      }),
    ],
    permission: "configure",
    route: {
      method: "post",
      path: "/configure",
      summary:
        "Changes the agent that runs the session, by the name of one of the server's agents.",
    },
    answer: { kind: "nothing" },
  }),
  eventCommand({
    name: "setMetadata",
    parameters: [
      required<JsonObject>("metadata", metadataSchema, { own: toJson, isMetadata: true }),
    ],
    permission: "configure",
    route: { method: "post", path: "/metadata", summary: "Replaces the metadata of the session." },
    on: "any",
    prepare: async (host, metadata) => await host.assertMetadata(metadata),
    // No event if the session has these metadata.
    decide: (target, metadata) => {
      assertNotClosed(target, "setMetadata");
      if (isDeepStrictEqual(target.state.summary.metadata, metadata)) return [];
      return [{ type: "session.metadata-set", data: { metadata } }];
    },
    recorded: (event) =>
      event.type === "session.metadata-set" ? () => [event.data.metadata] : undefined,
  }),
  eventCommand({
    name: "setTitle",
    parameters: [required<string>("title", short), person],
    permission: "configure",
    route: {
      method: "post",
      path: "/title",
      audience: "user",
      summary: "Gives the session a title.",
    },
    on: "any",
    // No event if the session has this title.
    decide: (target, title, about) => {
      assertNotClosed(target, "setTitle");
      if (target.state.summary.title === title) return [];
      return [{ type: "session.titled", data: { title, ...about } }];
    },
    recorded: (event) =>
      event.type === "session.titled"
        ? () => [event.data.title, defined({ by: event.data.by })]
        : undefined,
  }),
  eventCommand({
    name: "markSeen",
    parameters: [person],
    permission: "send",
    route: {
      method: "post",
      path: "/seen",
      audience: "user",
      summary: "Says that the client's actor has seen all turns that have ended.",
    },
    on: "any",
    // No event if nothing has ended since.
    decide: (target, { by: who } = {}) => {
      assertNotClosed(target, "markSeen");
      const { session, state } = target;
      const { turns, seen = {} } = state.summary;
      if (who === undefined)
        throw new TurnlogError(
          "INVALID_INPUT",
          `Nobody was named who has seen session ${session}. Give \`by\`; on a server, \`authorize\` names the actor.`,
          { session, details: { option: "options.by" } },
        );
      const turn = isInTurn(state.machine) ? turns - 1 : turns;
      if (turn <= (Object.hasOwn(seen, who) ? (seen[who] ?? 0) : 0)) return [];
      return [{ type: "session.seen", data: { by: who, turn } }];
    },
    recorded: (event) =>
      event.type === "session.seen" ? () => [{ by: event.data.by }] : undefined,
  }),
  runtimeCommand({
    name: "append",
    parameters: [
      required<string>("type", text),
      unchecked("data"),
      options<AppendOptions>({ fields: { id: short } }),
    ],
    // No route: the events of a program are its own word.
    permission: "configure",
    answer: { kind: "json", schema: z.lazy(() => z.looseObject({ position: z.int() })) },
    recorded: (event) =>
      isAppEvent(event) ? () => [event.type, event.data, defined({ id: event.id })] : undefined,
  }),
  redaction,
  eventCommand({
    name: "close",
    parameters: [optional<string>("reason", text)],
    permission: "close",
    route: {
      method: "post",
      path: "/close",
      summary: "Ends the session permanently; its log stays.",
    },
    on: "any",
    // No event if the session is closed already.
    decide: (target, reason) => {
      if (target.state.machine.matches("closed")) return [];
      assertIdle(target, "close");
      return [{ type: "session.closed", data: reason === undefined ? {} : { reason } }];
    },
    recorded: (event) => (event.type === "session.closed" ? () => [event.data.reason] : undefined),
  }),
  runtimeCommand({
    name: "fork",
    parameters: [
      options<ForkOptions>({
        fields: { ...agentChanges, position, id: name },
        local: localChanges,
        hints: {
          edit: "a fork edits no message. Call `send(text, { replaces: messageId })`, on the session or on a fork of it.",
          undo: "a fork rewinds no turn. Call `rewind({ beforeTurn })`, on the session or on a fork of it.",
        },
      }),
    ],
    permission: "fork",
    also: { option: "id", permission: "create", isSession: true },
    route: {
      method: "post",
      path: "/fork",
      audience: "user",
      summary: "Creates a session that shares the events up to a position.",
    },
    answer: { kind: "session" },
    isForwarded: false,
  }),
  runtimeCommand({
    name: "rerun",
    parameters: [
      options<RerunOptions>({
        fields: { ...agentChanges, position, step: position, id: name },
        local: localChanges,
        and: thing(
          "an object with `position` or `step`, and not both",
          (value) =>
            Reflect.get(Object(value), "position") === undefined ||
            Reflect.get(Object(value), "step") === undefined,
        ),
      }),
    ],
    permission: "fork",
    also: { option: "id", permission: "create", isSession: true },
    route: {
      method: "post",
      path: "/rerun",
      summary: "Runs a turn again in a fork, from a position or a step within it.",
    },
    answer: { kind: "turn-in-fork" },
    isForwarded: false,
  }),
];

/** Given to the runtime, not to the session, whose handle would end with it. */
export const deletion: Command = runtimeCommand({
  name: "delete",
  parameters: [
    options<DeletionOptions>({
      fields: {
        forks: oneOf("refuse", "copy"),
        cancel: flag,
        bill: oneOf("keep", "forget"),
        by,
      },
    }),
  ],
  permission: "delete",
  answer: { kind: "json", schema: deletedSchema },
});
