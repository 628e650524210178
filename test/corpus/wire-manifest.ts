// Where the recorded provider streams are and what is known of each: the rows of the manifest that the
// corpus tests serve. Read only; without the corpus the tests skip with `corpusAbsent`.
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const environment = z.object({ TURNLOG_CORPUS: z.string().min(1).optional() }).parse(process.env);

const repositoryRoot = fileURLToPath(new URL("../../", import.meta.url));

/** The corpus folder: `TURNLOG_CORPUS`, or `../shared/corpus` beside the repository. */
export const corpusFolder: string = resolve(
  repositoryRoot,
  environment.TURNLOG_CORPUS ?? "../shared/corpus",
);

const manifestPath = resolve(corpusFolder, "wire/MANIFEST.jsonl");

/** Whether the recorded streams are on this machine. */
export const corpusPresent: boolean = existsSync(manifestPath);

/** What a skipped corpus test says. */
export const corpusAbsent: string = `skipped, no recorded provider streams here (${manifestPath} is not there; set TURNLOG_CORPUS to the corpus folder)`;

/** How a stream is framed and ended, by the first family that does it so. */
export const wireFormats = [
  "openai-responses",
  "openai-chat",
  "openai-completion",
  "google",
  "google-interactions",
  "anthropic",
  "amazon-bedrock",
  "cohere",
] as const;
export type WireFormat = (typeof wireFormats)[number];

/** The families that have a real client here; behind the formats those that speak as OpenAI does, with peculiarities of their own. */
const wireFamilies = [
  "openai-responses",
  "openai-chat",
  "openai-completion",
  "google",
  "google-interactions",
  "anthropic",
  "amazon-bedrock",
  "cohere",
  "alibaba",
  "azure",
  "cerebras",
  "deepseek",
  "groq",
  "mistral",
  "moonshotai",
  "open-responses",
  "openai-compatible",
  "perplexity",
  "xai",
] as const;

export type WireFamily = (typeof wireFamilies)[number];

export function formatOf({ family, url }: Pick<WireRow, "family" | "url">): WireFormat {
  const own = wireFormats.find((format) => format === family);
  if (own !== undefined) return own;
  return url.includes("/responses") ? "openai-responses" : "openai-chat";
}

/** `ok`: the stream plays to its end. `errors`: the client reports an error part or an invalid call. */
const wireStatuses = ["ok", "errors"] as const;
export type WireStatus = (typeof wireStatuses)[number];

/** One recorded stream and what the real client makes of it. */
export interface WireRow {
  readonly set: "vercel-ai" | "gemini-cli";
  readonly family: WireFamily;
  readonly file: string;
  readonly status: WireStatus;
  /** False where the stream was written by hand. */
  readonly recorded: boolean;
  readonly features: readonly string[];
  /** The finish reason; null where the stream ends before a step begins. */
  readonly finish: string | null;
  /** Tokens, as the SDK counts them, without the provider's raw figures. */
  readonly usage: WireUsage;
  /** Part types in order, equal neighbours counted: `start text-delta×3 tool-call(provider) finish`. */
  readonly sequence: string;
  /** The beginnings of the errors that come out, of error parts and invalid calls. */
  readonly errors: readonly string[];
  /** The names that tools must be registered under so that the recorded calls are valid. */
  readonly tools: readonly string[];
  /** The path and query that the client asks for. */
  readonly url: string;
}

/** Figures that the provider did not give are absent. */
interface WireUsage {
  readonly inputTokens?: number | undefined;
  readonly inputTokenDetails?: Readonly<Record<string, number>> | undefined;
  readonly outputTokens?: number | undefined;
  readonly outputTokenDetails?: Readonly<Record<string, number>> | undefined;
  readonly totalTokens?: number | undefined;
}

const tokens = z.number().int().nonnegative();

const usageSchema: z.ZodType<WireUsage> = z.strictObject({
  inputTokens: tokens.optional(),
  inputTokenDetails: z.record(z.string(), tokens).optional(),
  outputTokens: tokens.optional(),
  outputTokenDetails: z.record(z.string(), tokens).optional(),
  totalTokens: tokens.optional(),
});

const wireRowSchema: z.ZodType<WireRow> = z.object({
  set: z.enum(["vercel-ai", "gemini-cli"]),
  family: z.enum(wireFamilies),
  file: z.string().regex(/\.(chunks\.txt|sse)$/, "only *.chunks.txt and *.sse streams are served"),
  status: z.enum(wireStatuses),
  recorded: z.boolean(),
  features: z.array(z.string()),
  finish: z.string().nullable(),
  usage: usageSchema,
  sequence: z.string(),
  errors: z.array(z.string()),
  tools: z.array(z.string()),
  url: z.string().startsWith("/"),
});

/** A row of any kind, also of those that nobody can serve. */
interface AnyRow {
  readonly family: string;
  readonly file: string;
  readonly status: string;
}

const anyRowSchema: z.ZodType<AnyRow> = z.looseObject({
  family: z.string(),
  file: z.string(),
  status: z.string(),
});

/** Every row of the manifest, in its order. Throws without a corpus. */
export function allRows(): readonly AnyRow[] {
  return readFileSync(manifestPath, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => anyRowSchema.parse(JSON.parse(line)));
}

/** The manifest's rows of these families and statuses, in the manifest's order. Throws without a corpus. */
export function wireRows(
  families: readonly WireFamily[] = wireFamilies,
  statuses: readonly WireStatus[] = wireStatuses,
): readonly WireRow[] {
  const wanted = {
    families: new Set<string>(families),
    statuses: new Set<string>(statuses),
  };
  return allRows()
    .filter((row) => wanted.families.has(row.family) && wanted.statuses.has(row.status))
    .map((row) => wireRowSchema.parse(row));
}
