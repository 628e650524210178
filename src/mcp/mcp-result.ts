/** Reads a server's answer to a tool call. Only the frame must be valid; an invalid part is shown as it is. Pure. */

import { z } from "zod";

/** Many servers write `null` for an absent field. */
export interface McpResult {
  readonly content?: readonly unknown[] | null | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | null | undefined;
}

export interface McpResource {
  readonly uri: string;
  readonly mimeType?: string | null | undefined;
  readonly text?: string | null | undefined;
  readonly blob?: string | null | undefined;
}

export interface McpMedia {
  readonly type?: string | undefined;
  readonly data: string;
  readonly mimeType?: string | null | undefined;
}

export const mcpResultSchema: z.ZodType<McpResult> = z.lazy(() =>
  z.looseObject({
    content: z.array(z.unknown()).nullish(),
    structuredContent: z.unknown().optional(),
    isError: z.boolean().nullish(),
    _meta: z.looseObject({}).nullish(),
  }),
);

const textBlock = z.lazy(() => z.looseObject({ type: z.literal("text"), text: z.string() }));

const mediaBlock: z.ZodType<McpMedia> = z.lazy(() =>
  z
    .looseObject({ type: z.string().optional(), data: z.string(), mimeType: z.string().nullish() })
    // Includes types of later protocol versions.
    .refine(({ type = "", mimeType }) => ["image", "audio"].includes(type) || isGiven(mimeType)),
);

const resourceBlock = z.lazy(() =>
  z.looseObject({
    type: z.literal("resource"),
    resource: z.looseObject({
      uri: z.string(),
      mimeType: z.string().nullish(),
      text: z.string().nullish(),
      blob: z.string().nullish(),
    }),
  }),
);

export function isGiven<Value>(value: Value): value is NonNullable<Value> {
  return value !== undefined && value !== null;
}

export function textOf(part: unknown): string | undefined {
  return typeof part === "string" ? part : textBlock.safeParse(part).data?.text;
}

export function mediaOf(part: unknown): McpMedia | undefined {
  return mediaBlock.safeParse(part).data;
}

export function resourceOf(part: unknown): McpResource | undefined {
  return resourceBlock.safeParse(part).data?.resource;
}

/** The answer of a server to a call. */
export type CallAnswer =
  | { readonly kind: "result"; readonly result: McpResult }
  /** A person must open addresses before the call can run. */
  | { readonly kind: "asks"; readonly why: string; readonly questions: readonly unknown[] }
  /** The server refuses to run the call. */
  | { readonly kind: "refused"; readonly why: string }
  /** The answer is not a tool result. */
  | { readonly kind: "broken"; readonly why: string; readonly answer: unknown };

/** The server did not run the request: it lost the session, could not be reached, or refused. */
export class NotRun extends Error {
  readonly why: "expired" | "unreachable" | "refused";

  constructor(cause: Error, why: NotRun["why"]) {
    super(cause.message, { cause });
    this.why = why;
  }
}

/** A person must log in first. Nothing was run. */
export class LoginNeeded extends Error {
  /** Undefined for a turn that has no account. */
  readonly url: string | undefined;

  constructor(url?: string) {
    super(url === undefined ? "The turn has no account there." : `It needs a login: ${url}`);
    this.url = url;
  }
}

const messageSchema = z.lazy(() =>
  z.looseObject({
    result: z.unknown().optional(),
    error: z.unknown().optional(),
  }),
);

const errorSchema = z.lazy(() => z.looseObject({ message: z.string() }));
const addressesSchema = z.lazy(() =>
  z.looseObject({
    code: z.literal(-32_042),
    message: z.string(),
    data: z.looseObject({ elicitations: z.array(z.unknown()) }),
  }),
);

/** @param message - The unchanged message of the protocol. */
export function callAnswer(message: unknown): CallAnswer {
  const { result, error } = messageSchema.parse(message);
  if (error !== undefined && error !== null) {
    const asks = addressesSchema.safeParse(error).data;
    if (asks !== undefined)
      return { kind: "asks", why: asks.message, questions: asks.data.elicitations };
    const named = errorSchema.safeParse(error);
    return { kind: "refused", why: named.success ? named.data.message : JSON.stringify(error) };
  }
  const parsed = mcpResultSchema.safeParse(result);
  if (parsed.success) return { kind: "result", result: withIsError(parsed.data) };
  const why = parsed.error.issues
    .map(({ path, message }) => `${["result", ...path].join(".")}: ${message}`)
    .join("; ");
  return { kind: "broken", why, answer: result ?? message };
}

/** A result with content is a success unless it says otherwise. */
function withIsError(result: McpResult): McpResult {
  const { content, structuredContent, isError } = result;
  if (!isGiven(content) && !isGiven(structuredContent)) return result;
  return { ...result, isError: isError ?? false };
}
