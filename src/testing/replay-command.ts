/** What came from outside to a recorded session, said to a session again. */

import type { SessionEvent } from "../events/index.ts";
import type { CompactionStrategy, Session } from "../index.ts";
import { recordedError } from "../models/index.ts";

type CommandType =
  | "message.queued"
  | "message.withdrawn"
  | "turn.cancel-requested"
  | "tool.approval-answered"
  | "session.resumed"
  | "session.closed"
  | "context.compaction-started";

const commandTypes: ReadonlySet<string> = new Set<CommandType>([
  "message.queued",
  "message.withdrawn",
  "turn.cancel-requested",
  "tool.approval-answered",
  "session.resumed",
  "session.closed",
  "context.compaction-started",
]);

/** Whether somebody outside of the session made this happen. Everything else follows from it. */
export function isCommand(event: SessionEvent): event is SessionEvent<CommandType> {
  return commandTypes.has(event.type);
}

/** Says it again. @param next - The event that was recorded after it. */
export async function repeatCommand(
  session: Session,
  event: SessionEvent<CommandType>,
  next: SessionEvent | undefined,
): Promise<void> {
  switch (event.type) {
    case "message.queued": {
      const { id, content, delivery } = event.data;
      const input = typeof content === "string" ? content : [...content];
      await session.send(input, { id, delivery });
      return;
    }
    case "message.withdrawn": {
      const { ids, reason } = event.data;
      for (const id of ids) await session.withdraw(id, reason);
      return;
    }
    case "turn.cancel-requested":
      await session.cancel(reasonOf(event.data));
      return;
    case "tool.approval-answered": {
      const { callId, approved } = event.data;
      const answer = reasonOf(event.data);
      await (approved ? session.approve(callId, answer) : session.deny(callId, answer));
      return;
    }
    case "session.resumed":
      return await session.resume();
    case "session.closed":
      return await session.close(event.data.reason);
    case "context.compaction-started":
      await session.compact(recordedStrategy(event.data.strategy, next));
  }
}

function reasonOf({ reason }: { readonly reason?: string }): { readonly reason?: string } {
  return reason === undefined ? {} : { reason };
}

/** Plans what was planned. */
function recordedStrategy(name: string, outcome: SessionEvent | undefined): CompactionStrategy {
  return {
    name,
    plan: () => {
      if (outcome?.type === "context.compacted") {
        const { covers, summary } = outcome.data;
        return { covers, summary };
      }
      if (outcome?.type !== "context.compaction-rejected") return undefined;
      const { error } = outcome.data;
      if (error !== undefined) throw recordedError(error);
      return undefined;
    },
  };
}
