/** Repeats the commands that a recorded session received from outside. */

import type { OutputInterface } from "ai";
import {
  defineEvents,
  isAppEvent,
  type DefinedEvents,
  type AppEventType,
  type CancelMode,
  type EventSchemas,
  type SessionEvent,
} from "../events/index.ts";
import type { Session } from "../runtime/index.ts";
import type { ReplayPace } from "../models/index.ts";
import { recordedCompactions, recordedStrategy } from "./replay-summaries.ts";

type CommandType =
  | "message.queued"
  | "message.rescheduled"
  | "message.withdrawn"
  | "turn.cancel-requested"
  | "tool.approval-answered"
  | "tool.succeeded"
  | "tool.failed"
  | "session.approval-forgotten"
  | "session.metadata-set"
  | "session.resumed"
  | "session.rewound"
  | "session.closed"
  | "context.compaction-started"
  | "context.restored"
  | AppEventType;

const commandTypes: ReadonlySet<string> = new Set<CommandType>([
  "message.queued",
  "message.rescheduled",
  "message.withdrawn",
  "turn.cancel-requested",
  "tool.approval-answered",
  "session.approval-forgotten",
  "session.metadata-set",
  "session.resumed",
  "session.rewound",
  "session.closed",
  "context.compaction-started",
  "context.restored",
]);

/** Whether a command from outside caused this event; all others follow. `events`: all recorded events. */
export function isCommand(
  event: SessionEvent,
  events: readonly SessionEvent[],
): event is SessionEvent<CommandType> {
  if (event.type === "tool.succeeded" || event.type === "tool.failed") {
    const { step, callId } = event.data;
    return events
      .slice(0, event.position)
      .some(
        ({ type, data }) =>
          type === "tool.output-requested" && data.step === step && data.callId === callId,
      );
  }
  // An automatic compaction follows from the size of the prompt.
  if (event.type === "context.compaction-started") return event.data.trigger === "asked";
  return isAppEvent(event) || commandTypes.has(event.type);
}

/** The program's recorded events. Their data was checked when it was appended. */
export function recordedAppEvents(events: readonly SessionEvent[]): DefinedEvents {
  const schemas: Record<AppEventType, EventSchemas[AppEventType]> = {};
  for (const { type } of events.filter(isAppEvent)) schemas[type] = anything;
  return defineEvents(schemas);
}

const anything: EventSchemas[AppEventType] = {
  "~standard": { version: 1, validate: (value) => ({ value }) },
};

/** Repeats a command. @param events - All recorded events. @param output - Of a message: the output of its turn. */
export async function repeatCommand(
  session: Session,
  event: SessionEvent<CommandType>,
  events: readonly SessionEvent[],
  pace: ReplayPace,
  output?: OutputInterface,
): Promise<void> {
  const next = events[event.position];
  if (isAppEvent(event)) {
    const { type, data, id } = event;
    await session.append(type, data, id === undefined ? {} : { id });
    return;
  }
  switch (event.type) {
    case "message.queued": {
      const { id, content, delivery, notBefore } = event.data;
      const input = typeof content === "string" ? content : [...content];
      const later = notBefore === undefined ? {} : { notBefore: new Date(notBefore) };
      const own = output === undefined ? {} : { output };
      await session.send(input, { id, delivery, ...later, ...own });
      return;
    }
    case "message.rescheduled": {
      // Without a time it may be delivered now: 0 has passed.
      const { id, delivery, notBefore = 0 } = event.data;
      return await session.reschedule(id, { delivery, notBefore: new Date(notBefore) });
    }
    case "message.withdrawn": {
      const [id, ...others] = event.data.ids;
      if (id !== undefined && others.length === 0)
        return await session.withdraw(id, aboutOf(event.data));
      // A cancel withdraws several messages at once, and records nothing else for a turn that was stopping.
      const mode = next?.type === "turn.cancel-requested" ? next.data.mode : "after-tools";
      await session.cancel({ ...modeOf({ mode }), ...aboutOf(event.data), withdraw: true });
      return;
    }
    case "turn.cancel-requested":
      await session.cancel({ ...modeOf(event.data), ...aboutOf(event.data) });
      return;
    case "tool.approval-answered": {
      const { step, callId, approved, always } = event.data;
      const { approvals } = await session.view();
      const asked = approvals.findLast((one) => one.step === step && one.callId === callId);
      const answer = {
        ...aboutOf(event.data),
        ...(always === undefined ? {} : { always }),
      };
      await session[approved ? "approve" : "deny"](asked?.approvalId ?? callId, answer);
      return;
    }
    case "tool.succeeded":
    case "tool.failed": {
      const { step, callId, by } = event.data;
      const { outputRequests } = await session.view();
      const asked = outputRequests.findLast((one) => one.step === step && one.callId === callId);
      await session.answerCall(asked?.requestId ?? callId, {
        ...(event.type === "tool.succeeded"
          ? { output: event.data.output }
          : { error: event.data.error.message }),
        ...(by === undefined ? {} : { by }),
      });
      return;
    }
    case "session.metadata-set":
      return await session.setMetadata(event.data.metadata);
    case "session.approval-forgotten":
      return await session.forgetApproval(event.data.toolName);
    case "session.resumed":
      return await session.resume();
    case "session.rewound":
      return await repeatRewind(session, event, next);
    case "session.closed":
      return await session.close(event.data.reason);
    case "context.compaction-started":
      for (const compaction of recordedCompactions(events.slice(event.position - 1)).slice(0, 1)) {
        await session.compact(recordedStrategy(compaction, pace), aboutOf(event.data));
      }
      return;
    case "context.restored":
      await session.restore(event.data.position);
  }
}

/** @param next - The event after it: of an edit, the message. */
async function repeatRewind(
  session: Session,
  { data: { to, branch, again, edit, key, note } }: SessionEvent<"session.rewound">,
  next: SessionEvent | undefined,
): Promise<void> {
  const tell = note !== undefined;
  const messageId = again?.at(-1);
  if (edit !== undefined) {
    if (next?.type !== "message.queued" || next.data.id !== edit.by) return;
    const { content, delivery } = next.data;
    const input = typeof content === "string" ? content : [...content];
    await session.send(input, { id: edit.by, delivery, replaces: edit.replaces });
  } else if (messageId !== undefined) {
    const keyed = key === undefined ? {} : { idempotencyKey: key };
    await session.regenerate({ messageId, ...keyed });
  } else if (branch === undefined) await session.rewind({ to, tell });
  else await session.checkout(branch, { tell });
}

/** Why a command was given, and by whom. */
function aboutOf({ reason, by }: About): About {
  return { ...(reason === undefined ? {} : { reason }), ...(by === undefined ? {} : { by }) };
}

interface About {
  readonly reason?: string;
  readonly by?: string;
}

function modeOf({ mode }: { readonly mode?: CancelMode | undefined }): {
  readonly mode?: CancelMode;
} {
  return mode === undefined ? {} : { mode };
}
