/** The items that the owner of a store answers to a call of its log. */

import { z } from "zod";
import { type Client, problemError } from "../../client/index.ts";
import type { LogCall } from "../../server/store/index.ts";
import { TurnlogError } from "../../events/index.ts";
import { textLines } from "../../shared/index.ts";

const line = z.union([
  z.strictObject({ item: z.unknown() }),
  z.strictObject({ problem: z.unknown() }),
  z.strictObject({ end: z.literal(true) }),
]);

/**
 * The items in order. Ends when the signal aborts.
 * @throws TurnlogError the owner's refusal; `LOG_CLOSED` if the owner ended before its answer
 */
export async function* calledItems(
  { http }: Client,
  asked: LogCall,
  signal: AbortSignal,
  pid: number,
): AsyncGenerator<unknown, void, void> {
  const given: Parameters<typeof http.open>[0] = {
    method: "POST",
    path: "/store/log",
    body: asked,
    signal,
  };
  try {
    const { body } = await http.open(given);
    if (body === null) throw ownerGone(pid);
    for await (const text of textLines(body.pipeThrough(new TextDecoderStream()))) {
      const read = line.parse(JSON.parse(text));
      if ("end" in read) return;
      if ("problem" in read) throw problemError(read.problem);
      yield read.item;
    }
  } catch (error) {
    if (signal.aborted) return;
    if (TurnlogError.isInstance(error) && error.code !== "SERVER_UNREACHABLE") throw error;
    throw ownerGone(pid, error);
  }
  throw ownerGone(pid);
}

/** Whether the process that had the store open has closed it, or has ended. */
export function isOwnerGone(error: unknown): error is TurnlogError {
  return (
    TurnlogError.isInstance(error) &&
    (error.code === "LOG_CLOSED" || error.code === "RUNTIME_CLOSED")
  );
}

export function ownerGone(pid: number, cause?: unknown): TurnlogError {
  return new TurnlogError(
    "LOG_CLOSED",
    `Process ${pid} has closed the store meanwhile. Run the command again.`,
    { details: { pid }, cause },
  );
}
