/** Events of a session that thinks before it speaks, delta by delta. */
import type { NewEvent } from "../../../src/events/index.ts";

/** What is thought in a step of {@link talk}, with words that are found again. */
export function thoughtOf(name: string, step: number): string {
  return `secret of ${name} in ${step}! `.repeat(4);
}

export function saidOf(name: string, step: number): string {
  return `answer of ${name} in ${step}. `.repeat(40);
}

/** Pieces of so many characters. */
function pieces(text: string, length: number): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, index) =>
    text.slice(length * index, length * (index + 1)),
  );
}

/** So many steps of a turn; between its steps is an event that no text goes across. */
export function talk(name: string, steps = 40, length = 7): readonly NewEvent[] {
  let at = 1_790_000_000_000;
  const later = (): number => (at += 13);
  return Array.from({ length: steps }, (_, step): readonly NewEvent[] => [
    { type: "unknown", time: later(), data: { type: "step.began", version: 1, data: step } },
    { type: "part.reasoning-start", time: later(), data: { id: "r" } },
    ...pieces(thoughtOf(name, step), length).map((text, index): NewEvent => {
      const metadata =
        index % 5 === 4 ? { providerMetadata: { p: { signature: `secret of ${name}` } } } : {};
      return { type: "part.reasoning-delta", time: later(), data: { id: "r", text, ...metadata } };
    }),
    { type: "part.reasoning-end", time: later(), data: { id: "r" } },
    { type: "part.text-start", time: later(), data: { id: "t" } },
    ...pieces(saidOf(name, step), length).flatMap((text, index): readonly NewEvent[] => [
      { type: "part.text-delta", time: later(), data: { id: "t", text } },
      // Now and then another block goes on beside it.
      ...(index % 9 === 8
        ? [
            {
              type: "part.tool-input-delta" as const,
              time: later(),
              data: { id: "c", delta: text },
            },
          ]
        : []),
    ]),
    { type: "part.text-end", time: later(), data: { id: "t" } },
  ]).flat();
}
