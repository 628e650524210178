/** `session.*`: the life of a session as a whole. */

import { z } from "zod";
import { byIdSchema } from "../values/by-id-schema.ts";
import type { FamilySchemas } from "./family.ts";
import { jsonObjectSchema, jsonSchema, type JsonObject, type JsonValue } from "../values/json.ts";

/** A description of an agent that can be compared with another one. */
export interface AgentDescription {
  /** SHA-256 over model, instructions, tool definitions and tool choice. */
  readonly digest: string;
  readonly model: ModelName;
  /** The names of the tools that requests have, in their order. */
  readonly tools: readonly string[];
  readonly id?: string;
  /** Its name among the agents of the runtime. Absent: the session keeps the last one. */
  readonly name?: string;
  /** SHA-256 of each part, to find the one that changed. Earlier releases recorded none. */
  readonly parts?: AgentParts;
  /** The tools of MCP servers, whole: a replay needs no server. */
  readonly mcp?: McpOffer;
}

/** Digests of the texts that `prompt.text` holds, and what is too short for one. */
export interface AgentParts {
  readonly instructions: string;
  /** Digest of the definition, by tool name. */
  readonly tools: Readonly<Record<string, string>>;
  /** Whole, not a digest. Absent if the agent has none. */
  readonly toolChoice?: JsonValue;
}

/** The tools that the MCP servers of a runtime offer. */
export interface McpOffer {
  readonly tools: readonly OfferedTool[];
  /** Servers that did not start or list their tools. */
  readonly missing: readonly string[];
}

export interface OfferedTool {
  /** The name for the model: the server's name and the tool's. */
  readonly name: string;
  readonly server: string;
  /** The server's name for it. */
  readonly tool: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly idempotent?: boolean;
  readonly needsApproval?: boolean;
}

/** For instance `{ provider: "openai.responses", modelId: "gpt-5" }`. */
export interface ModelName {
  readonly provider: string;
  readonly modelId: string;
}

/** Work that a dead process left unfinished. */
export type InFlight =
  | { readonly kind: "nothing" }
  | { readonly kind: "boundary"; readonly turn: number }
  | { readonly kind: "streaming"; readonly turn: number; readonly step: number }
  | {
      readonly kind: "tools";
      readonly turn: number;
      readonly step: number;
      readonly started: readonly string[];
      readonly waiting: readonly string[];
    }
  | { readonly kind: "compacting" };

/** `stop` ends the turn as interrupted; `continue` continues it. */
export type RecoveryPolicy = "stop" | "continue";

/** A position of another session. */
export interface ForkPoint {
  readonly session: string;
  readonly position: number;
}

/** The call of another session that created a session: its sub-agent. */
export interface ParentCall {
  /** The session in which the model made the call. */
  readonly session: string;
  readonly step: number;
  readonly callId: string;
  readonly toolName: string;
  /** How many sessions are above, this parent included. */
  readonly depth: number;
}

/** A message in place of another one. */
export interface MessageEdit {
  /** The id of the message that is left. */
  readonly replaces: string;
  /** The id of the message that replaces it. */
  readonly by: string;
}

/** A range of positions, both ends included. */
export interface PositionRange {
  readonly from: number;
  readonly to: number;
}

export interface SessionFamily {
  /** The first event of a session, unless it is a fork. */
  "session.created": {
    /** The agent that runs the session. */
    readonly agent: AgentDescription;
    /** What the program says about the session, for lists. */
    readonly metadata?: JsonObject;
    /** The call whose sub-agent this session is. */
    readonly parent?: ParentCall;
  };
  /** The first event of a fork: the session shares all events of another one up to a position. */
  "session.forked": {
    /** The other session, and the last position that both share. */
    readonly from: ForkPoint;
    /** The agent of the fork. Absent: that of the other session. */
    readonly agent?: AgentDescription;
  };
  /** Another agent runs the session from here on: the program or a person changed it. */
  "session.configured": {
    /** The agent from here on. */
    readonly agent: AgentDescription;
  };
  /** Replaces the metadata of the session. */
  "session.metadata-set": {
    /** All of the metadata from here on. */
    readonly metadata: JsonObject;
  };
  /** Gives the session a title in place of the beginning of its first message. */
  "session.titled": {
    /** Shown in lists. */
    readonly title: string;
    /** The name of the person who gave it. */
    readonly by?: string;
  };
  /** A person has seen everything up to the end of this turn. */
  "session.seen": {
    /** The name of the person. */
    readonly by: string;
    readonly turn: number;
  };
  /** A process opens the session and finds that a dead one left work unfinished. */
  "session.recovered": {
    readonly inFlight: InFlight;
    readonly policy: RecoveryPolicy;
  };
  /** Releases messages that a cancelled, failed or interrupted turn held back. */
  "session.resumed": {
    /** Why, as the caller said it. */
    readonly reason?: string;
  };
  /** Only in logs of earlier releases: these spans lost content. */
  "session.thinned": {
    /** What was dropped. */
    readonly drop: "boundaries" | "reasoning";
    /** The positions where it was dropped. */
    readonly spans: readonly PositionRange[];
    /** Later prompts would have contained some of it. */
    readonly shown?: true;
  };
  /** A link of the hash chain, recorded with `hashChain`. */
  "session.chained": {
    /** SHA-256 over the link before it and all events since. */
    readonly digest: string;
  };
  /** The content at these positions is permanently gone: its keys are erased after this event. */
  "session.redacted": {
    /** The positions whose content is gone. */
    readonly ranges: readonly PositionRange[];
    /** Why, as the caller said it. */
    readonly reason?: string;
    /** The name of the person who redacted it. */
    readonly by?: string;
  };
  /** The head moves to an earlier boundary; the log keeps what follows. Without `branch`, a new one begins. */
  "session.rewound": {
    /** The last position that stays on the active branch. */
    readonly to: number;
    /** The branch that continues; `to` is its head. */
    readonly branch?: number;
    /** Delivered messages of the branch that is left; they wait again. */
    readonly again?: readonly string[];
    /** A message that the next `message.queued` replaces. */
    readonly edit?: MessageEdit;
    /** The caller's key of a regeneration. */
    readonly key?: string;
    /** What the model is told about the calls of the turns that are left. */
    readonly note?: string;
    /** The name of the person who moved the head. */
    readonly by?: string;
  };
  /** A standing answer about a tool ends: its next call that needs approval leads to a question again. */
  "session.approval-forgotten": { readonly toolName: string };
  /** The session takes no more events. */
  "session.closed": {
    /** Why, as the caller said it. */
    readonly reason?: string;
    /** The end of the hash chain, if the session has one. */
    readonly digest?: string;
  };
}

export function isSameModel(one: ModelName | undefined, other: ModelName): boolean {
  return one?.provider === other.provider && one.modelId === other.modelId;
}

export const modelNameSchema: z.ZodType<ModelName> = z.looseObject({
  provider: z.string(),
  modelId: z.string(),
});

const offeredToolSchema: z.ZodType<OfferedTool> = z.lazy(() =>
  z.looseObject({
    name: z.string(),
    server: z.string(),
    tool: z.string(),
    description: z.string().exactOptional(),
    inputSchema: jsonObjectSchema,
    idempotent: z.boolean().exactOptional(),
    needsApproval: z.boolean().exactOptional(),
  }),
);

export const agentPartsSchema: z.ZodType<AgentParts> = z.lazy(() =>
  z.looseObject({
    instructions: z.string(),
    tools: byIdSchema(z.string()),
    toolChoice: jsonSchema.exactOptional(),
  }),
);

export const agentSchema: z.ZodType<AgentDescription> = z.lazy(() =>
  z.looseObject({
    digest: z.string(),
    model: modelNameSchema,
    tools: z.array(z.string()),
    id: z.string().exactOptional(),
    name: z.string().exactOptional(),
    parts: agentPartsSchema.exactOptional(),
    mcp: z
      .looseObject({ tools: z.array(offeredToolSchema), missing: z.array(z.string()) })
      .exactOptional(),
  }),
);

export const forkPointSchema: z.ZodType<ForkPoint> = z.looseObject({
  session: z.string(),
  position: z.int().positive(),
});

export const parentCallSchema: z.ZodType<ParentCall> = z.lazy(() =>
  z.looseObject({
    session: z.string(),
    step: z.int().positive(),
    callId: z.string(),
    toolName: z.string(),
    depth: z.int().positive(),
  }),
);

const positionRangeSchema: z.ZodType<PositionRange> = z.looseObject({
  from: z.int().positive(),
  to: z.int().positive(),
});

const digestSchema = z.string().regex(/^[0-9a-f]{64}$/);

const turn = z.int().positive();
const step = z.int().positive();

const inFlightSchema: z.ZodType<InFlight> = z.lazy(() =>
  z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("nothing") }),
    z.looseObject({ kind: z.literal("boundary"), turn }),
    z.looseObject({ kind: z.literal("streaming"), turn, step }),
    z.looseObject({
      kind: z.literal("tools"),
      turn,
      step,
      started: z.array(z.string()),
      waiting: z.array(z.string()),
    }),
    z.looseObject({ kind: z.literal("compacting") }),
  ]),
);

export const sessionSchemas: FamilySchemas<SessionFamily> = {
  "session.created": () =>
    z.looseObject({
      agent: agentSchema,
      metadata: jsonObjectSchema.exactOptional(),
      parent: parentCallSchema.exactOptional(),
    }),
  "session.forked": () =>
    z.looseObject({
      from: forkPointSchema,
      agent: agentSchema.exactOptional(),
    }),
  "session.configured": () => z.looseObject({ agent: agentSchema }),
  "session.metadata-set": () => z.looseObject({ metadata: jsonObjectSchema }),
  "session.titled": () => z.looseObject({ title: z.string(), by: z.string().exactOptional() }),
  "session.seen": () => z.looseObject({ by: z.string(), turn: z.int() }),
  "session.recovered": () =>
    z.looseObject({
      inFlight: inFlightSchema,
      policy: z.enum(["stop", "continue"]),
    }),
  "session.resumed": () => z.looseObject({ reason: z.string().exactOptional() }),
  "session.thinned": () =>
    z.looseObject({
      drop: z.enum(["boundaries", "reasoning"]),
      spans: z.array(z.looseObject({ from: z.int().positive(), to: z.int().positive() })).min(1),
      shown: z.literal(true).exactOptional(),
    }),
  "session.chained": () => z.looseObject({ digest: digestSchema }),
  "session.rewound": () =>
    z.looseObject({
      to: z.int().positive(),
      branch: z.int().positive().exactOptional(),
      again: z.array(z.string()).exactOptional(),
      edit: z.looseObject({ replaces: z.string(), by: z.string() }).exactOptional(),
      key: z.string().exactOptional(),
      note: z.string().exactOptional(),
      by: z.string().exactOptional(),
    }),
  "session.approval-forgotten": () => z.looseObject({ toolName: z.string() }),
  "session.redacted": () =>
    z.looseObject({
      ranges: z.array(positionRangeSchema),
      reason: z.string().exactOptional(),
      by: z.string().exactOptional(),
    }),
  "session.closed": () =>
    z.looseObject({
      reason: z.string().exactOptional(),
      digest: digestSchema.exactOptional(),
    }),
};
