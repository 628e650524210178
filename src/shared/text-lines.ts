/**
 * The lines of a text that comes in pieces, without their ends. Only `\n` ends a line: Node's `readline` also
 * breaks at U+2028 and U+2029, which JSON allows in strings.
 */
export async function* textLines(
  pieces: AsyncIterable<string>,
): AsyncGenerator<string, void, void> {
  let open: string[] = [];
  for await (const piece of pieces) {
    const [first = "", ...lines] = piece.split("\n");
    open.push(first);
    const next = lines.pop();
    if (next === undefined) continue;
    // Joined once: a long line may arrive in many pieces.
    yield open.join("");
    yield* lines;
    open = [next];
  }
  const rest = open.join("");
  if (rest !== "") yield rest;
}
