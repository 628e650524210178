/** The environment variables of the command line. No other file reads them. */

import { z } from "zod";
import { UsageError, type ExitCode, INTERRUPTED } from "../output/error-report.ts";

export interface Environment {
  /** The keys of providers, by their variables. */
  readonly keys: ReadonlyMap<string, string>;
  readonly openaiBaseUrl?: string | undefined;
  /** The model, in the form of `--model`. */
  readonly model?: string | undefined;
  /** Instructions that replace those of the chat's agent. */
  readonly instructions?: string | undefined;
  /** When to compact; undefined for the default. */
  readonly compaction?: ContextStrategy | undefined;
  /** The command of the person's editor. */
  readonly editor?: string | undefined;
  /** Whether the terminal shows the notifications of OSC 9. */
  readonly showsNotices: boolean;
  /** The command that started this process, to name in hints. */
  readonly startedBy: "turnlog" | "npx turnlog" | "npm start --";
}

export type ContextStrategy =
  | { readonly when: "threshold"; readonly share: number }
  | { readonly when: "overflow" | "manual" };

// An empty variable counts as unset: `NAME= command` is how a shell unsets it for one command.
const text = z
  .string()
  .optional()
  .transform((value) => (value === undefined || value.trim() === "" ? undefined : value.trim()));

const strategies = ["threshold", "overflow", "manual", "dummy"] as const;
const DEFAULT_SHARE = 0.8;

const strategy = text.pipe(
  z.enum(strategies, { error: "it must be threshold, overflow or manual" }).optional(),
);

const isShare = "it is a share of the window, above 0 and up to 1";
const share = text.pipe(
  z
    .string()
    .regex(/^\d*\.?\d+$/, { error: isShare })
    .transform(Number)
    .refine((value) => value > 0 && value <= 1, { error: isShare })
    .optional(),
);

/** A share alone means `threshold`; other strategies ignore it. */
function compactionOf(
  asked: (typeof strategies)[number] | undefined,
  given: number | undefined,
): ContextStrategy | undefined {
  const when = asked ?? (given === undefined ? undefined : "threshold");
  if (when === undefined) return undefined;
  if (when === "threshold") return { when, share: given ?? DEFAULT_SHARE };
  return { when: when === "dummy" ? "manual" : when };
}

/** npm names the command that runs this process in `npm_lifecycle_event`. */
function startedBy(command: string | undefined): Environment["startedBy"] {
  if (command === "start") return "npm start --";
  return command === "npx" ? "npx turnlog" : "turnlog";
}

const schema: z.ZodType<Omit<Environment, "keys">> = z
  .object({
    OPENAI_BASE_URL: text.pipe(z.url({ protocol: /^https?$/ }).optional()),
    MODEL: text,
    INSTRUCTIONS: text,
    CONTEXT_STRATEGY: strategy,
    CONTEXT_COMPACTION_THRESHOLD: share,
    VISUAL: text,
    EDITOR: text,
    npm_lifecycle_event: text,
    TERM_PROGRAM: text,
    TERM: text,
  })
  .transform((variables) => ({
    openaiBaseUrl: variables.OPENAI_BASE_URL,
    model: variables.MODEL,
    instructions: variables.INSTRUCTIONS,
    compaction: compactionOf(variables.CONTEXT_STRATEGY, variables.CONTEXT_COMPACTION_THRESHOLD),
    editor: variables.VISUAL ?? variables.EDITOR,
    showsNotices: /^(?:iTerm\.app|WezTerm|ghostty|xterm-kitty|foot(?:-.*)?)$/.test(
      // tmux and the like, which pass none on, name themselves.
      variables.TERM_PROGRAM ?? variables.TERM ?? "",
    ),
    startedBy: startedBy(variables.npm_lifecycle_event),
  }));

/** @throws UsageError for a variable that cannot be used */
export function readEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const parsed = schema.safeParse(variables);
  if (parsed.success) return { ...parsed.data, keys: keysOf(variables) };
  const [issue] = parsed.error.issues;
  throw new UsageError(
    `The environment variable ${issue?.path.join(".")} cannot be used: ${issue?.message}.`,
  );
}

function keysOf(variables: NodeJS.ProcessEnv): ReadonlyMap<string, string> {
  const keys = Object.entries(variables).map(
    ([name, value]) => [name, text.parse(value) ?? ""] as const,
  );
  return new Map(keys.filter(([name, key]) => name.endsWith("_API_KEY") && key !== ""));
}

// Ctrl-C in a command that reads or checks: it stops the work, and the exit code says so.

/** The exit code of the work, or 130 as soon as Ctrl-C is pressed. The signal stops the work. */
export async function unlessInterrupted(
  work: (signal: AbortSignal) => Promise<ExitCode>,
): Promise<ExitCode> {
  const stop = new AbortController();
  const interrupted = Promise.withResolvers<ExitCode>();
  const press = (): void => {
    stop.abort();
    interrupted.resolve(INTERRUPTED);
  };
  process.on("SIGINT", press);
  const working = work(stop.signal);
  // After an interrupt nobody awaits the work: its errors must not become unhandled rejections.
  working.catch(() => {});
  try {
    return await Promise.race([working, interrupted.promise]);
  } finally {
    process.off("SIGINT", press);
  }
}
