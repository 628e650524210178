// The form in which the manifest writes down a stream's parts: types in order, equal neighbours counted.

interface SequencePart {
  readonly type: string;
  readonly invalid?: boolean | undefined;
  readonly providerExecuted?: boolean | undefined;
}

/** Run-length form: `start text-delta×3 tool-call(invalid)(provider) finish`. */
export function partSequence(parts: readonly SequencePart[]): string {
  const runs: { readonly name: string; count: number }[] = [];
  for (const part of parts) {
    const name = partName(part);
    const run = runs.at(-1);
    if (run?.name === name) run.count += 1;
    else runs.push({ name, count: 1 });
  }
  return runs.map(({ name, count }) => (count === 1 ? name : `${name}×${count}`)).join(" ");
}

function partName({ type, invalid, providerExecuted }: SequencePart): string {
  if (type !== "tool-call") return type;
  return `tool-call${invalid ? "(invalid)" : ""}${providerExecuted ? "(provider)" : ""}`;
}
