/**
 * The lines of a text that comes in pieces. Ended by `\n` alone: Node's `readline` also breaks at
 * U+2028 and U+2029, which JSON leaves in strings as they are.
 */
export async function* textLines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of pieces) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
