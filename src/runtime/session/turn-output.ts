/** Partial outputs and elements of a turn while its text streams, read from its events. */

import type { OutputInterface } from "ai";
import { TurnlogError, type SessionEvent } from "../../events/index.ts";

/** An element of an array output. */
export type ElementOf<PARTIAL> = PARTIAL extends readonly (infer Element)[] ? Element : never;

/**
 * The partial output after each delta that changes it. A new step or attempt begins anew.
 * @throws TurnlogError `INVALID_INPUT` if neither the message nor the agent has an `output`
 */
export async function* partialOutputs<PARTIAL>(
  session: string,
  output: OutputInterface<unknown, PARTIAL> | undefined,
  events: AsyncIterable<SessionEvent>,
): AsyncGenerator<PARTIAL, void, void> {
  if (output === undefined) throw withoutOutput(session);
  let text = "";
  let last: string | undefined;
  for await (const event of events) {
    if (event.type === "step.started") text = "";
    if (event.type !== "part.text-delta") continue;
    text += event.data.text;
    const parsed = await output.parsePartialOutput({ text });
    if (parsed === undefined) continue;
    const shown = JSON.stringify(parsed.partial);
    if (shown === last) continue;
    last = shown;
    yield parsed.partial;
  }
}

/** Each element of an array output, once it is complete. */
export async function* outputElements<PARTIAL>(
  partials: AsyncIterable<PARTIAL>,
): AsyncGenerator<ElementOf<PARTIAL>, void, void> {
  let given = 0;
  for await (const partial of partials) {
    const elements = elementsOf(partial);
    for (const element of elements.slice(given)) yield element;
    given = Math.max(given, elements.length);
  }
}

/** None if it is no list. */
function elementsOf<PARTIAL>(partial: PARTIAL): readonly ElementOf<PARTIAL>[] {
  return Array.isArray(partial) ? (partial as readonly ElementOf<PARTIAL>[]) : [];
}

function withoutOutput(session: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `This turn of session ${session} has no \`output\`: give one to \`send\` or to the agent. Its text comes as \`part.text-delta\` events.`,
    { session, details: { option: "output" } },
  );
}
