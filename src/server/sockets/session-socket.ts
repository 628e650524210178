/**
 * A WebSocket of one session: each frame `{ id, type, payload }` of the client gets one answer with the
 * same `id`, and events that it subscribed to. Compactions that begin by themselves are pushed.
 */

import { z } from "zod";
import { TurnlogError, type SessionEvent } from "../../events/index.ts";
import { encodedEvents, type Session } from "../../runtime/index.ts";
import type { Permission } from "../../commands/index.ts";
import { isRefusal } from "../problems/problem.ts";
import type { Audience, Call } from "../route/route.ts";
import type { Gate } from "../streams/permitted-events.ts";
import { messageInput, postedMessage, type BlobReader } from "../sessions/posted-message.ts";
import { withShownQuestions } from "../sessions/shown-questions.ts";
import type { FrameReader, Socket } from "./server-socket.ts";

export type SocketCall = Pick<Call, "runtime" | "by" | "sender" | "hide" | "problem"> &
  BlobReader & {
    /** @throws TurnlogError `FORBIDDEN` */
    readonly allow: (action: Permission, audience?: Audience) => Promise<void>;
    /** For operators. */
    readonly gate: (action: Permission) => Gate;
    readonly audience: Audience;
    /** Counts a frame as a request. @throws TurnlogError `TOO_MANY_REQUESTS` */
    readonly enter: () => Disposable;
  };

const frame = z.discriminatedUnion("type", [
  of("get_context_info", z.strictObject({}).optional()),
  of("manual_compact", z.strictObject({}).optional()),
  of(
    "send",
    z.strictObject({
      message: postedMessage,
      id: z.string().min(1).exactOptional(),
      delivery: z.enum(["steer", "follow-up"]).exactOptional(),
    }),
  ),
  of("cancel", z.strictObject({ mode: z.enum(["now", "after-tools"]).exactOptional() }).optional()),
  of(
    "approve",
    z.strictObject({
      approvalId: z.string(),
      approved: z.boolean(),
      reason: z.string().exactOptional(),
      always: z.boolean().exactOptional(),
    }),
  ),
  of("subscribe", z.strictObject({ from: z.int().positive().exactOptional() }).optional()),
]);

function of<const Type extends string, Payload extends z.ZodType>(type: Type, payload: Payload) {
  return z.strictObject({ id: z.union([z.string(), z.number()]), type: z.literal(type), payload });
}

type Frame = z.output<typeof frame>;
type Compaction = SessionEvent<"context.compacted">;

/** Serves a connection until it is closed. */
export function serveSocket(session: Session, call: SocketCall, socket: Socket): FrameReader {
  const answer = async (id: Frame["id"] | null, type: string, payload: unknown): Promise<void> => {
    await socket.send(JSON.stringify({ id, type, payload }));
  };
  /** Positions of compactions that a frame asked for: its answer says so. */
  const asked = new Set<number>();
  let compacting: Promise<unknown> = Promise.resolve();
  /** The events from a position, one in each item, for as long as they may be read. */
  const events = (each: number) =>
    encodedEvents(
      session,
      { each },
      { initial: () => undefined, encode: (state, event) => ({ state, chunks: [event] }) },
      socket.closed,
      call.gate("read"),
    );

  async function handle({ id, type, payload }: Frame): Promise<void> {
    switch (type) {
      case "get_context_info":
        await call.allow("read", "operator");
        return await answer(id, "context_info", await contextInfo(session));
      case "manual_compact": {
        await call.allow("compact", "operator");
        const compaction = session.compact(undefined, call.by);
        compacting = compaction
          .then(
            ({ type: outcome, position }) => outcome === "context.compacted" && asked.add(position),
          )
          .catch(() => {});
        const event = await compaction;
        if (event.type === "context.compacted")
          return await answer(id, "context_compacted", compacted(event));
        throw new TurnlogError(
          "COMMAND_REFUSED",
          `The context of session ${session.id} was not compacted: ${event.data.why}.`,
          { session: session.id, position: event.position },
        );
      }
      case "send": {
        await call.allow("send");
        const { message, ...options } = payload;
        const input = await messageInput(call, message);
        const turn = await session.send(input, { ...options, ...call.sender });
        const { messageId, queued, queuePosition: position } = turn;
        return await answer(id, "sent", { messageId, queued, position });
      }
      case "cancel":
        await call.allow("cancel");
        return await answer(id, "cancelled", await session.cancel({ ...payload, ...call.by }));
      case "approve": {
        const { approvalId, approved, ...given } = payload;
        await call.allow(approved ? "approve" : "deny");
        const recorded = await (approved
          ? session.approve(approvalId, { ...given, ...call.by })
          : session.deny(approvalId, { ...given, ...call.by }));
        return await answer(id, "approved", withShownQuestions(recorded, call.hide));
      }
      case "subscribe": {
        await call.allow("read", "operator");
        for await (const { chunks } of events(payload?.from ?? 1))
          await answer(id, "event", chunks[0]);
      }
    }
  }

  /** Pushes the compactions that begin by themselves. */
  async function follow(): Promise<void> {
    const { position } = await session.view();
    for await (const { chunks } of events(position + 1)) {
      const event = chunks[0];
      if (event?.type !== "context.compacted") continue;
      await compacting;
      if (!asked.delete(event.position)) await answer(null, "context_compacted", compacted(event));
    }
  }

  // Figures are for operators, as the other frames with them.
  const pushing = call.audience === "operator" ? follow() : Promise.resolve();
  pushing
    .catch(async (error: unknown) => {
      const problem = call.problem(error);
      // Each subscription and each command gets a refusal of its own.
      if (isRefusal(error)) await answer(null, "error", problem);
      else socket.close(1011, problem.code);
    })
    // The connection is broken.
    .catch(() => {});

  return async (text) => {
    let id: Frame["id"] | null = null;
    try {
      const given: unknown = parsedJson(text);
      id = idOf(given);
      const parsed = frame.safeParse(given);
      if (!parsed.success) throw unreadable(z.prettifyError(parsed.error));
      using _ = call.enter();
      await handle(parsed.data);
    } catch (error) {
      if (!socket.closed.aborted) await answer(id, "error", call.problem(error));
    }
  };
}

async function contextInfo(session: Session): Promise<object> {
  const { tokens: tokenCount, limits } = await session.context();
  const { history } = await session.view();
  const { contextWindow: maxTokens } = limits;
  return {
    tokenCount,
    maxTokens,
    usagePercent: maxTokens === undefined ? undefined : percent(tokenCount, maxTokens),
    transcriptLength: history.length,
  };
}

function compacted({ data: { beforeTokens, afterTokens } }: Compaction): object {
  return {
    oldTokenCount: beforeTokens,
    newTokenCount: afterTokens,
    reductionPercent: percent(beforeTokens - afterTokens, beforeTokens),
  };
}

/** With one digit behind the point. */
function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((1000 * part) / whole) / 10;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreadable(String(error));
  }
}

function idOf(given: unknown): Frame["id"] | null {
  const parsed = z.looseObject({ id: z.union([z.string(), z.number()]) }).safeParse(given);
  return parsed.success ? parsed.data.id : null;
}

function unreadable(why: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `A frame must be JSON of the form { id, type, payload }: ${why}`,
  );
}
