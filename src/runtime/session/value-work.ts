/** How long a value may hold the event loop while it is recorded: it is copied, frozen, folded, measured and encoded in one go. */

/** Less is not worth a renewal of the lease. */
export const SHORT_WORK_MS = 100;
/** Others wait so long for the sessions of a process that dies over a value. */
const MOST_MS = 60_000;
/** On a machine that has a tenth of its time for this process. */
const MS_PER_VALUE = 0.01;
const MS_PER_CHARACTER = 0.0001;

/** In milliseconds, on a busy machine. */
export function longestWork(value: unknown): number {
  let ms = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0 && ms < MOST_MS) {
    const next = rest.pop();
    ms += MS_PER_VALUE;
    if (typeof next === "string") ms += next.length * MS_PER_CHARACTER;
    if (typeof next !== "object" || next === null) continue;
    for (const inner of Object.values<unknown>({ ...next })) rest.push(inner);
  }
  return Math.min(ms, MOST_MS);
}
