/**
 * Reads what the folder tools answered. The tools may be somebody else's, so each output is parsed
 * and an unknown shape is said to be one, never guessed at.
 */
import { z } from "zod";

/** What a tool says about how much it looked at. */
export interface Coverage {
  /** What it met and did not take, and why. */
  readonly passedOver?: readonly string[] | undefined;
  /** Where it stopped before the end, and why. */
  readonly cut?: string | undefined;
}

/** The answer of `list_files`. */
export interface Listing extends Coverage {
  readonly entries: readonly string[];
}

/** The answer of `read_file`. */
export interface FileText extends Coverage {
  readonly text: string;
  readonly startLine?: number | undefined;
  readonly endLine?: number | undefined;
  readonly totalLines?: number | undefined;
}

/** The answer of `search_files`. */
export interface Findings extends Coverage {
  readonly matches: readonly {
    readonly file: string;
    readonly line: number;
    readonly text: string;
  }[];
}

const listing: z.ZodType<Listing> = z.object({
  entries: z.array(z.string()),
  passedOver: z.array(z.string()).optional(),
  cut: z.string().optional(),
});

const fileText: z.ZodType<FileText> = z.object({
  text: z.string(),
  startLine: z.number().optional(),
  endLine: z.number().optional(),
  totalLines: z.number().optional(),
  passedOver: z.array(z.string()).optional(),
  cut: z.string().optional(),
});

const findings: z.ZodType<Findings> = z.object({
  matches: z.array(z.object({ file: z.string(), line: z.number(), text: z.string() })),
  passedOver: z.array(z.string()).optional(),
  cut: z.string().optional(),
});

export function readListing(output: unknown): Listing | undefined {
  return listing.safeParse(output).data;
}

/** A plain string is taken for the text that was asked for; how long the file is it does not say. */
export function readFileText(output: unknown): FileText | undefined {
  return typeof output === "string" ? { text: output } : fileText.safeParse(output).data;
}

export function readFindings(output: unknown): Findings | undefined {
  return findings.safeParse(output).data;
}
