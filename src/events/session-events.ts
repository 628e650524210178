/** `session.*`: the life of a session as a whole. */

import { z } from "zod";
import { byIdSchema } from "./by-id.ts";
import type { FamilySchemas } from "./family.ts";
import { jsonObjectSchema, type JsonObject } from "./json.ts";

/** What the session was set up with, in a form that tells two set-ups apart. */
export interface AgentDescription {
  /** SHA-256 over model, instructions and tool definitions. */
  readonly digest: string;
  readonly model: ModelName;
  readonly tools: readonly string[];
  /** SHA-256 of each of them, so that it can be told which one has changed. Earlier releases have none. */
  readonly parts?: AgentParts;
  /** What came over MCP, where servers were asked: whole, so that it can be replayed without them. */
  readonly mcp?: McpOffer;
}

/** Digests of what an agent is made of beside its model. */
interface AgentParts {
  readonly instructions: string;
  /** Of description and input schema, by the tool's name. */
  readonly tools: Readonly<Record<string, string>>;
}

/** What the MCP servers of a runtime have to offer. */
export interface McpOffer {
  readonly tools: readonly OfferedTool[];
  /** Servers that could not be started, or never said what they have. */
  readonly missing: readonly string[];
}

/** A tool of an MCP server, as the model is told of it. */
export interface OfferedTool {
  /** The name under which the model calls it: that of its server and its own. */
  readonly name: string;
  readonly server: string;
  /** What the server calls it. */
  readonly tool: string;
  readonly description?: string;
  /** A JSON schema. */
  readonly inputSchema: JsonObject;
  /** Running it again does nothing twice, as its server says. */
  readonly idempotent?: boolean;
  /** Each call needs a person's approval. */
  readonly needsApproval?: boolean;
}

/**
 * A model as the AI SDK names it, for instance `{ provider: "openai.responses", modelId: "gpt-5"
 * }`.
 */
export interface ModelName {
  readonly provider: string;
  readonly modelId: string;
}

/** What a process that died had left unfinished. */
export type InFlight =
  | { readonly kind: "nothing" }
  | { readonly kind: "boundary"; readonly turn: number }
  | { readonly kind: "streaming"; readonly turn: number; readonly step: number }
  | {
      readonly kind: "tools";
      readonly turn: number;
      readonly step: number;
      /** Calls whose tool had been started and had not ended. */
      readonly started: readonly string[];
      /** Calls whose tool had not been started. */
      readonly waiting: readonly string[];
    }
  | { readonly kind: "compacting" };

/** `stop` ends the turn as interrupted; `continue` goes on with it by itself. */
export type RecoveryPolicy = "stop" | "continue";

/** Where a session branches off another one: its events up to `position` are that one's. */
export interface ForkPoint {
  readonly session: string;
  readonly position: number;
}

/** Positions, both ends included. */
export interface PositionRange {
  readonly from: number;
  readonly to: number;
}

/** What the rows of old steps may lose: where each delta began and ended, or all that was reasoning. */
export type TrimmedContent = "boundaries" | "reasoning";

export interface SessionFamily {
  "session.created": { readonly agent: AgentDescription };
  /** The first event of a fork's own. All before it are those of the session that it branches off. */
  "session.forked": {
    readonly from: ForkPoint;
    /** Who runs it from here on, where that is somebody else. */
    readonly agent?: AgentDescription;
  };
  "session.configured": { readonly agent: AgentDescription };
  "session.recovered": { readonly inFlight: InFlight; readonly policy: RecoveryPolicy };
  /** Waiting messages that a cancelled, failed or interrupted turn held back may go on. */
  "session.resumed": { readonly reason?: string };
  /**
   * What the events of these spans, which lie before it, no longer hold; what that leaves of them is in
   * `thinning.ts`. `shown`: prompts that come after it would have had some of it.
   */
  "session.thinned": {
    readonly drop: TrimmedContent;
    readonly spans: readonly PositionRange[];
    readonly shown?: true;
  };
  /** A link of the hash chain: what it says is in `hash-chain.ts`. */
  "session.chained": { readonly digest: string };
  /** The content at these positions is gone for good: their keys are erased behind this event. */
  "session.redacted": { readonly ranges: readonly PositionRange[]; readonly reason?: string };
  /** What was answered for good about a tool no longer holds: its next call that needs approval is asked about. */
  "session.approval-forgotten": { readonly toolName: string };
  "session.closed": { readonly reason?: string; readonly digest?: string };
}

/** Parses {@link ModelName}. */
export const modelNameSchema: z.ZodType<ModelName> = z.looseObject({
  provider: z.string(),
  modelId: z.string(),
});

const offeredToolSchema: z.ZodType<OfferedTool> = z.looseObject({
  name: z.string(),
  server: z.string(),
  tool: z.string(),
  description: z.string().exactOptional(),
  inputSchema: jsonObjectSchema,
  idempotent: z.boolean().exactOptional(),
  needsApproval: z.boolean().exactOptional(),
});

const agentSchema: z.ZodType<AgentDescription> = z.looseObject({
  digest: z.string(),
  model: modelNameSchema,
  tools: z.array(z.string()),
  parts: z.looseObject({ instructions: z.string(), tools: byIdSchema(z.string()) }).exactOptional(),
  mcp: z
    .looseObject({ tools: z.array(offeredToolSchema), missing: z.array(z.string()) })
    .exactOptional(),
});

/** Parses {@link ForkPoint}. */
export const forkPointSchema: z.ZodType<ForkPoint> = z.looseObject({
  session: z.string(),
  position: z.int().positive(),
});

const positionRangeSchema: z.ZodType<PositionRange> = z.looseObject({
  from: z.int().positive(),
  to: z.int().positive(),
});

/** Hexadecimal SHA-256. */
const digestSchema = z.string().regex(/^[0-9a-f]{64}$/);

const turn = z.int().positive();
const step = z.int().positive();

const inFlightSchema: z.ZodType<InFlight> = z.discriminatedUnion("kind", [
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
]);

export const sessionSchemas: FamilySchemas<SessionFamily> = {
  "session.created": z.looseObject({ agent: agentSchema }),
  "session.forked": z.looseObject({
    from: forkPointSchema,
    agent: agentSchema.exactOptional(),
  }),
  "session.configured": z.looseObject({ agent: agentSchema }),
  "session.recovered": z.looseObject({
    inFlight: inFlightSchema,
    policy: z.enum(["stop", "continue"]),
  }),
  "session.resumed": z.looseObject({ reason: z.string().exactOptional() }),
  "session.thinned": z.looseObject({
    drop: z.enum(["boundaries", "reasoning"]),
    spans: z.array(z.looseObject({ from: z.int().positive(), to: z.int().positive() })).min(1),
    shown: z.literal(true).exactOptional(),
  }),
  "session.chained": z.looseObject({ digest: digestSchema }),
  "session.approval-forgotten": z.looseObject({ toolName: z.string() }),
  "session.redacted": z.looseObject({
    ranges: z.array(positionRangeSchema),
    reason: z.string().exactOptional(),
  }),
  "session.closed": z.looseObject({
    reason: z.string().exactOptional(),
    digest: digestSchema.exactOptional(),
  }),
};
