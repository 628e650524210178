/** Law 5: a message is accepted once, and then delivered once, withdrawn once, or still waiting. */

import type { Replay } from "./replay.ts";

export function messageProblems({ events, last }: Replay): readonly string[] {
  const problems: string[] = [];
  const fates = new Map<string, "waiting" | "delivered" | "withdrawn">();
  for (const event of events) {
    if (event.type === "message.queued") {
      if (fates.has(event.data.id))
        problems.push(`${event.seq}: ${event.data.id} is accepted twice`);
      fates.set(event.data.id, "waiting");
    }
    if (event.type !== "message.delivered" && event.type !== "message.withdrawn") continue;
    const fate = event.type === "message.delivered" ? "delivered" : "withdrawn";
    for (const id of event.data.ids) {
      const before = fates.get(id);
      if (before !== "waiting") {
        problems.push(`${event.seq}: ${id} is ${fate}, and was ${before ?? "never accepted"}`);
      }
      fates.set(id, fate);
    }
  }
  const of = (fate: string): readonly string[] =>
    [...fates].flatMap(([id, its]) => (its === fate ? [id] : []));
  const seen = {
    waiting: last.queue.waiting.map(({ id }) => id),
    delivered: last.history.items.flatMap((item) => (item.kind === "user" ? [item.id] : [])),
  };
  if (seen.waiting.join() !== of("waiting").join()) {
    problems.push(`the queue shows ${seen.waiting.join()}, and ${of("waiting").join()} wait`);
  }
  if (seen.delivered.toSorted().join() !== of("delivered").toSorted().join()) {
    problems.push("the history does not show the delivered messages, each once");
  }
  return problems;
}
