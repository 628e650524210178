/** Routes of a session's queue: send, list, move, withdraw, resume. */

import { z } from "zod";
import { json, route, type Route } from "../route/route.ts";
import { messageInput, postedParts, seen } from "./posted-message.ts";

/** What an edit or a regeneration left behind. */
const replaced = z.looseObject({ branch: z.int(), to: z.int() });
const delivery = z.enum(["steer", "follow-up"]);
const notBefore = z.iso.datetime({ offset: true });

export function queueRoutes(): readonly Route[] {
  return [
    route({
      method: "get",
      path: "/api/sessions/{session}/queue",
      action: "read",
      summary:
        "The waiting messages: those that may be delivered now, in their order, then scheduled ones.",
      answer: z.object({ position: z.int(), messages: z.array(z.looseObject({ id: z.string() })) }),
      handle: async ({ open }) => {
        const { position, queue } = await (await open()).view();
        return json({ position, messages: queue });
      },
    }),
    route({
      method: "post",
      path: "/api/sessions/{session}/queue",
      action: "send",
      summary:
        "Accepts a message, which is durable when this responds. Repeating an id means the same message.",
      body: z.strictObject({
        message: z.union([z.string().min(1), postedParts]),
        id: z.string().min(1).exactOptional(),
        delivery: delivery.exactOptional(),
        notBefore: notBefore.exactOptional(),
        replaces: z.string().min(1).exactOptional(),
        basedOn: seen.exactOptional(),
      }),
      answer: z.object({
        messageId: z.string(),
        queued: z.boolean(),
        position: z.int(),
        replaced: replaced.optional(),
      }),
      handle: async ({ body: { message, ...options }, open, allow, runtime, by }) => {
        if (options.replaces !== undefined) await allow("rewind");
        const session = await open({ create: true });
        const input = await messageInput(runtime, message);
        const turn = await session.send(input, { ...options, ...by });
        const { messageId, queued, queuePosition: position } = turn;
        const left = options.replaces === undefined ? {} : { replaced: await turn.replaced };
        return json({ messageId, queued, position, ...left }, 202);
      },
    }),
    route({
      method: "post",
      path: "/api/sessions/{session}/queue/{message}",
      action: "send",
      summary: "Changes when a waiting message is delivered.",
      body: z.strictObject({
        delivery: delivery.exactOptional(),
        notBefore: notBefore.exactOptional(),
      }),
      answer: z.object({}),
      handle: async ({ body, params: { message = "" }, open }) => {
        await (await open()).reschedule(message, body);
        return json({});
      },
    }),
    route({
      method: "delete",
      path: "/api/sessions/{session}/queue/{message}",
      action: "send",
      summary: "Withdraws a waiting message.",
      answer: z.object({}),
      handle: async ({ params: { message = "" }, open, by }) => {
        await (await open()).withdraw(message, by);
        return json({});
      },
    }),
    route({
      method: "post",
      path: "/api/sessions/{session}/regenerate",
      action: "rewind",
      summary:
        "Runs a turn again for another reply, by default the last one. `Idempotency-Key` names the regeneration.",
      body: z
        .strictObject({
          messageId: z.string().min(1).exactOptional(),
          basedOn: seen.exactOptional(),
        })
        .optional(),
      answer: z.object({ messageId: z.string(), position: z.int(), replaced: replaced.optional() }),
      handle: async ({ body = {}, open, by, request: { headers } }) => {
        const idempotencyKey = headers.get("idempotency-key");
        const turn = await (
          await open()
        ).regenerate({
          ...body,
          ...(idempotencyKey === null ? {} : { idempotencyKey }),
          ...by,
        });
        const { messageId, queuePosition } = turn;
        const left = await turn.replaced;
        // The page follows the new reply: it begins at the rewind.
        const position = left?.position ?? queuePosition;
        return json({ messageId, position, replaced: left }, 202);
      },
    }),
    route({
      method: "post",
      path: "/api/sessions/{session}/resume",
      action: "send",
      summary: "Delivers the messages that wait behind a cancelled, failed or interrupted turn.",
      answer: z.object({}),
      handle: async ({ open }) => {
        await (await open()).resume();
        return json({});
      },
    }),
  ];
}
