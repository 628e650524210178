/**
 * What a command of a session is: a name, what it takes and answers, who may give it, and what it becomes. From
 * these follow the methods of the handle and their checks, the forwarding to another process, the server's routes,
 * the client and the replay. Pure: a decider reads the state, and returns events or throws why it refuses.
 */

import type { z } from "zod";
import type { OutputInterface } from "ai";
import type { CompactionStrategy } from "../context/index.ts";
import type { EventBody, JsonObject, SessionEvent } from "../events/index.ts";
import type { SessionView } from "../state/index.ts";
import type { Seen } from "./head.ts";
import type { Parameter } from "./parameters.ts";
import type { RewindDecision } from "./rewound.ts";
import type { CommandTarget } from "./target.ts";

/** What a request does, for the server's `authorize`. */
export type Permission =
  | "list"
  | "read"
  | "create"
  | "send"
  | "cancel"
  | "approve"
  | "deny"
  | "answer"
  | "rewind"
  | "compact"
  | "configure"
  | "fork"
  | "export"
  | "import"
  | "redact"
  | "close"
  | "delete";

/** How a client calls a command over HTTP. */
export interface Route {
  /** `user`: also the page of an end user may call it. Default: `operator`. */
  readonly audience?: "user" | "operator";
  readonly method: "get" | "post" | "delete";
  /**
   * Below `/api/sessions/{session}`, or whole if it begins with `/api`. A parameter in braces is taken from the
   * path; the others are fields of the body, or of the query for `get` and `delete`.
   */
  readonly path: string;
  readonly summary: string;
  /** Whether the session is created if it does not exist. */
  readonly creates?: boolean;
  /** Fields of the body that tell commands of the same route apart. */
  readonly fixed?: Readonly<Record<string, boolean>>;
}

/** What a command needs beyond its own permission if it is given an option. */
interface Also {
  readonly option: string;
  readonly permission: Permission;
  /** Whether the option names the session that the permission is about. */
  readonly isSession?: boolean;
}

/** What a command answers, and how it looks as JSON. */
export type Answer =
  /** As JSON: the position of the session after the command. */
  | { readonly kind: "nothing" }
  | { readonly kind: "json"; readonly schema: z.ZodType }
  /** A list; as JSON an object that has it under the name of the command. */
  | { readonly kind: "list"; readonly of: z.ZodType }
  /** A turn; as JSON its message, where it is, and what it replaced. */
  | { readonly kind: "turn" }
  /** Another session; as JSON its id. */
  | { readonly kind: "session" }
  /** A turn in another session. */
  | { readonly kind: "turn-in-fork" }
  /** Values of this process alone, such as a wait. */
  | { readonly kind: "local" }
  /** The same, one after another: the method returns no promise. */
  | { readonly kind: "sequence" };

export type Events = readonly EventBody[];

/** What `prepare` may use: it runs in the process that executes the command, before the decision. */
export interface Preparing {
  /** Checks metadata by the user's schema. @throws TurnlogError `INVALID_INPUT` */
  assertMetadata(metadata: JsonObject): Promise<void>;
}

/** How a command is carried out on a live session. */
export type Carried =
  /** Its events are recorded in the same moment in which they are decided. */
  | {
      readonly by: "events";
      readonly decide: (target: DecisionTarget, ...args: readonly unknown[]) => Events;
      /** Whether the session must be open and ready for a step. `any`: the decider looks itself. */
      readonly on: "open" | "any";
      readonly prepare?: (host: Preparing, ...args: readonly unknown[]) => Promise<void>;
    }
  /** The head moves between two turns; one that runs is cancelled first. */
  | {
      readonly by: "move";
      readonly decide: (target: CommandTarget, ...args: readonly unknown[]) => RewindDecision;
      /** What the caller saw: the head must not have moved since. */
      readonly seen: (...args: readonly unknown[]) => Seen | undefined;
    }
  /** The runtime has a method of its own for it: it waits, begins a turn, or is about more than the state. */
  | { readonly by: "runtime" };

/** One of the ways. */
export type CarriedBy<Way extends Carried["by"]> = Extract<Carried, { readonly by: Way }>;

/** A recorded session, while a replay repeats it. */
export interface Recording {
  /** The replayed session at this moment. */
  readonly view: () => Promise<Pick<SessionView, "approvals" | "outputRequests">>;
  /** Of the turn that a message begins; not logged. */
  readonly output: OutputInterface | undefined;
  /** The strategy that gives the recorded summary of a compaction. */
  readonly strategy: (
    started: SessionEvent<"context.compaction-started">,
  ) => CompactionStrategy | undefined;
}

/** The arguments with which a command was given; undefined if it does not repeat that event alone. */
export type RecordedArguments = (
  recording: Recording,
) => readonly unknown[] | undefined | Promise<readonly unknown[] | undefined>;

export interface Command {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly permission: Permission;
  readonly also?: Also;
  /** Undefined: programs only. */
  readonly route?: Route;
  readonly answer: Answer;
  /** Whether the process that runs the session must execute it. */
  readonly isForwarded: boolean;
  readonly carried: Carried;
  /**
   * Whether the command caused a recorded event, for replays. Undefined: it did not.
   * @param next - The event after it.
   * @param events - All of them.
   */
  readonly recorded?: (
    event: SessionEvent,
    next: SessionEvent | undefined,
    events: readonly SessionEvent[],
  ) => RecordedArguments | undefined;
}

/** `now`: epoch milliseconds, since deciders read no clock. */
export type DecisionTarget = CommandTarget & { readonly now: number };

/** The parameters of a function, one for each argument. */
export type ParametersOf<Args extends readonly unknown[]> = {
  readonly [Key in keyof Args]: Parameter<Args[Key]>;
};

interface Described<Args extends readonly unknown[]> extends Pick<
  Command,
  "name" | "permission" | "route"
> {
  /** Without it, a replay would stop at the event. */
  readonly recorded: NonNullable<Command["recorded"]>;
  readonly parameters: ParametersOf<Args>;
}

/** A command that becomes events. */
export function eventCommand<Args extends readonly unknown[]>({
  decide,
  on = "open",
  prepare,
  ...described
}: Described<Args> & {
  readonly decide: (target: DecisionTarget, ...args: Args) => Events;
  readonly on?: "open" | "any";
  readonly prepare?: (host: Preparing, ...args: Args) => Promise<void>;
}): Command {
  const carried = { by: "events", decide: checked(decide), on } as const;
  return {
    ...described,
    answer: { kind: "nothing" },
    isForwarded: true,
    carried: prepare === undefined ? carried : { ...carried, prepare: checked(prepare) },
  };
}

/** A command that moves the head of the session. */
export function moveCommand<Args extends readonly unknown[]>({
  decide,
  seen,
  ...described
}: Described<Args> & {
  readonly answer: Answer;
  readonly decide: (target: CommandTarget, ...args: Args) => RewindDecision;
  readonly seen: (...args: Args) => Seen | undefined;
}): Command {
  const onlySeen = checked((_: undefined, ...args: Args) => seen(...args));
  const carried = {
    by: "move",
    decide: checked(decide),
    seen: (...args: readonly unknown[]) => onlySeen(undefined, ...args),
  } as const;
  return { ...described, isForwarded: true, carried };
}

/** A command, or a reading one, that the runtime carries out by its method of that name. */
export function runtimeCommand({
  isForwarded = true,
  ...described
}: Omit<Command, "isForwarded" | "carried"> & { readonly isForwarded?: boolean }): Command {
  return { ...described, isForwarded, carried: { by: "runtime" } };
}

/** The parameters of a command have checked its arguments, and given them their own form. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the arguments
function checked<Target, Args extends readonly unknown[], Result>(
  act: (target: Target, ...args: Args) => Result,
): (target: Target, ...args: readonly unknown[]) => Result {
  const own = (args: readonly unknown[]): Args =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    args as unknown as Args;
  return (target, ...args) => act(target, ...own(args));
}
