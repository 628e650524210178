/**
 * What a tool of a server answers with, and how its parts are read. What has to be right is the frame: of a
 * part that is not what it says it is, what there is of it is shown. Pure.
 */

import { z } from "zod";

/** `null` stands for nothing, as many servers write it. */
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

export const mcpResultSchema: z.ZodType<McpResult> = z.looseObject({
  content: z.array(z.unknown()).nullish(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().nullish(),
  _meta: z.looseObject({}).nullish(),
});

const textBlock = z.looseObject({ type: z.literal("text"), text: z.string() });

const mediaBlock: z.ZodType<McpMedia> = z
  .looseObject({ type: z.string().optional(), data: z.string(), mimeType: z.string().nullish() })
  // Also kinds that nobody knows yet.
  .refine(({ type = "", mimeType }) => ["image", "audio"].includes(type) || isGiven(mimeType));

const resourceBlock = z.looseObject({
  type: z.literal("resource"),
  resource: z.looseObject({
    uri: z.string(),
    mimeType: z.string().nullish(),
    text: z.string().nullish(),
    blob: z.string().nullish(),
  }),
});

export function isGiven<Value>(value: Value): value is NonNullable<Value> {
  return value !== undefined && value !== null;
}

/** The text of a part that is text, also where it is nothing else. */
export function textOf(part: unknown): string | undefined {
  return typeof part === "string" ? part : textBlock.safeParse(part).data?.text;
}

export function mediaOf(part: unknown): McpMedia | undefined {
  return mediaBlock.safeParse(part).data;
}

export function resourceOf(part: unknown): McpResource | undefined {
  return resourceBlock.safeParse(part).data?.resource;
}
