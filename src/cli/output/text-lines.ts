/**
 * The lines of a text that comes in pieces. Ended by `\n` alone: Node's `readline` also breaks at
 * U+2028 and U+2029, which JSON leaves in strings as they are.
 */
export async function* textLines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let begun: string[] = [];
  for await (const piece of pieces) {
    const [first = "", ...lines] = piece.split("\n");
    begun.push(first);
    const next = lines.pop();
    if (next === undefined) continue;
    // Put together once, however many pieces a long line comes in.
    yield begun.join("");
    yield* lines;
    begun = [next];
  }
  const rest = begun.join("");
  if (rest !== "") yield rest;
}
