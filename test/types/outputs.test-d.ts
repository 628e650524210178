/** Structured outputs have the types of their schemas. */

import { Output } from "ai";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { Session, Turn } from "turnlog";

interface Sum {
  readonly sum: number;
}

const session = {} as Session;
const schema = z.object({ sum: z.number() });

test("an object, its parts while it streams, and the result of its turn", async () => {
  const turn = await session.send("Add.", { output: Output.object({ schema }) });
  const { output, text } = await turn.result;
  expectTypeOf(output).toEqualTypeOf<{ sum: number } | undefined>();
  expectTypeOf(text).toEqualTypeOf<string>();
  for await (const part of turn.partialOutputs)
    expectTypeOf(part.sum).toEqualTypeOf<number | undefined>();
});

test("an array, and its elements", async () => {
  const turn = await session.send("Add.", { output: Output.array({ element: schema }) });
  expectTypeOf((await turn.result).output).toEqualTypeOf<{ sum: number }[] | undefined>();
  for await (const element of turn.elements) expectTypeOf(element).toEqualTypeOf<{ sum: number }>();
});

test("a choice, also of a turn that is run again", async () => {
  const output = Output.choice({ options: ["yes", "no"] });
  const turn = await session.regenerate({ output });
  expectTypeOf((await turn.result).output).toEqualTypeOf<"yes" | "no" | undefined>();
});

test("nothing is known of an output that nobody asked for", async () => {
  const turn = await session.send("Add.");
  expectTypeOf(turn).toEqualTypeOf<Turn>();
  expectTypeOf((await turn.result).output).toBeUnknown();
  const named: Turn<Sum> = await session.send("Add.", { output: Output.object({ schema }) });
  expectTypeOf((await named.result).output).toEqualTypeOf<Sum | undefined>();
});
