// What the AI SDK itself makes of a recorded stream: the parts of one `streamText` step, for comparison with
// what turnlog records. Client tools are registered but not run: their results are not part of the stream.
import { isStepCount, streamText, type ModelMessage, type TextStreamPart, type ToolSet } from "ai";
import type { WireRow } from "./wire-manifest.ts";
import { wireModel } from "./wire-model.ts";
import { serveWire } from "./wire-server.ts";

/** One step as `streamText` sees it. */
export interface ExpectedParts {
  /** Every part of `result.stream`, from `start` to `finish`. */
  readonly parts: readonly TextStreamPart<ToolSet>[];
  /** What the SDK would add to the next prompt; empty where the stream ended before a step began. */
  readonly responseMessages: readonly ModelMessage[];
}

/** What a user says to start every recorded stream. */
export const wireMessages: readonly ModelMessage[] = [{ role: "user", content: "Please go on." }];

/** Serves the row, plays it through `streamText` for one step and keeps everything that comes out. */
export async function expectedParts(
  row: WireRow,
  { seed }: { readonly seed: number } = { seed: 1 },
): Promise<ExpectedParts> {
  await using server = await serveWire(row, { seed });
  const { model, tools } = wireModel(row, server.url);
  const result = streamText({
    model,
    tools: withoutExecute(tools),
    messages: [...wireMessages],
    stopWhen: isStepCount(1),
    maxRetries: 0,
    // Errors are parts of the stream; the default handler would print them.
    onError: () => {},
  });
  const parts = await Array.fromAsync(result.stream);
  // Without a finished step the SDK rejects this promise with the error that the parts already tell.
  const finished = parts.some(({ type }) => type === "finish-step");
  return { parts, responseMessages: finished ? await result.responseMessages : [] };
}

/** The same tools, to be called but not run. */
function withoutExecute(tools: ToolSet): ToolSet {
  return Object.fromEntries(
    Object.entries(tools).map(([name, { execute: _, ...definition }]) => [name, definition]),
  );
}
