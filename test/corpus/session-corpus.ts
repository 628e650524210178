// Recorded agent sessions with what their providers billed. Read only; without the corpus the tests
// skip with `sessionsAbsent`.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { corpusFolder } from "./wire-manifest.ts";

const folder = resolve(corpusFolder, "sessions");

export const sessionsPresent: boolean = existsSync(folder);

/** What a skipped test says. */
export const sessionsAbsent: string = `skipped, no recorded sessions here (${folder} is not there; set TURNLOG_CORPUS to the corpus folder)`;

interface RecordedCall {
  readonly id?: string | null | undefined;
  readonly name: string;
  readonly input?: unknown;
  readonly inputText?: string | undefined;
}

export interface RecordedMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content?: string | null | undefined;
  readonly toolCalls?: readonly RecordedCall[] | undefined;
  readonly toolCallId?: string | undefined;
  readonly reasoning?: string | undefined;
  /** What the harness did, and nobody said. */
  readonly mark?: string | undefined;
  readonly isError?: boolean | undefined;
  readonly usage?:
    | {
        readonly input: number;
        readonly output: number;
        readonly cacheRead?: number | undefined;
        readonly cacheWrite?: number | undefined;
      }
    | undefined;
}

interface RecordedConversation {
  readonly id: string;
  readonly model: string;
  readonly messages: readonly RecordedMessage[];
}

const tokens = z.number().nonnegative();
const message = z.looseObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.string().nullish(),
  toolCalls: z
    .array(
      z.looseObject({
        id: z.string().nullish(),
        name: z.string(),
        input: z.unknown().optional(),
        inputText: z.string().optional(),
      }),
    )
    .optional(),
  toolCallId: z.string().optional(),
  reasoning: z.string().optional(),
  mark: z.string().optional(),
  isError: z.boolean().optional(),
  usage: z
    .object({
      input: tokens,
      output: tokens,
      cacheRead: tokens.optional(),
      cacheWrite: tokens.optional(),
    })
    .optional(),
});
const session: z.ZodType<RecordedConversation> = z.looseObject({
  id: z.string(),
  model: z.string(),
  messages: z.array(message),
});

export interface RecordedSession extends RecordedConversation {
  readonly file: string;
}

export function recordedSessions(): readonly RecordedSession[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".jsonl"))
    .toSorted()
    .flatMap((file) =>
      readFileSync(resolve(folder, file), "utf8")
        .trim()
        .split("\n")
        .map((line) => ({ file, ...session.parse(JSON.parse(line)) })),
    );
}

/** The longest of them, by messages. */
export function longestSessions(count: number): readonly RecordedSession[] {
  return recordedSessions()
    .toSorted((one, other) => other.messages.length - one.messages.length)
    .slice(0, count);
}
