/** What a tool passed over, as a list that stays short: the reader is a model with a small window. */

const longest = 20;

export function shortened(notes: readonly string[]): readonly string[] {
  if (notes.length <= longest) return notes;
  return [...notes.slice(0, longest), `and ${notes.length - longest} more`];
}
