/** Routes that change sessions: cancel, compact, restore, rewind, branches, forks, deletion. */

import { z } from "zod";
import { parseSessionId } from "../../events/index.ts";
import { json, numberQuery, route, type Route } from "../route/route.ts";
import { seen } from "./posted-message.ts";

const position = z.int().positive();
const moved = { tell: z.boolean().exactOptional(), basedOn: seen.exactOptional() };
const rewound = z.looseObject({ branch: z.int(), position: z.int(), to: z.int() });

export function commandRoutes(): readonly Route[] {
  return [
    route({
      method: "post",
      path: "/api/sessions/{session}/cancel",
      action: "cancel",
      summary: "Cancels the running turn, and says what is kept of it.",
      body: z
        .strictObject({
          mode: z.enum(["now", "after-tools"]).exactOptional(),
          reason: z.string().exactOptional(),
          withdraw: z.boolean().exactOptional(),
        })
        .optional(),
      answer: z.looseObject({ was: z.string() }),
      handle: async ({ body, open, by }) => json(await (await open()).cancel({ ...body, ...by })),
    }),
    route({
      method: "post",
      path: "/api/sessions/{session}/compact",
      action: "compact",
      summary: "Compacts the context between turns, by the agent's strategy. Returns the event.",
      answer: z.looseObject({ type: z.string(), position: z.int() }),
      handle: async ({ open, by }) => json(await (await open()).compact(undefined, by)),
    }),
    route({
      method: "get",
      path: "/api/sessions/{session}/compact",
      action: "read",
      summary: "The prompt that a compaction would leave. Writes nothing.",
      query: z.strictObject({ position: numberQuery.optional() }),
      answer: z.looseObject({ outcome: z.string() }),
      handle: async ({ query: { position: at }, open }) =>
        json(await (await open()).preview(at === undefined ? {} : { position: at })),
    }),
    route({
      method: "post",
      path: "/api/sessions/{session}/restore",
      action: "compact",
      summary: "Undoes the pruning, cut or compaction at a position. Default: the newest.",
      body: z.strictObject({ position: position.exactOptional() }).optional(),
      answer: z.object({ position: z.int() }),
      handle: async ({ body, open, runtime, session }) => {
        await (await open()).restore(body?.position);
        return json({ position: await runtime.log.revision(session) });
      },
    }),
    route({
      method: "post",
      path: "/api/sessions/{session}/rewind",
      action: "rewind",
      summary: "Goes back to the end of an earlier turn; later events stay in the log.",
      body: z.union([
        z.strictObject({ to: position, ...moved }),
        z.strictObject({ beforeTurn: position, ...moved }),
        z.strictObject({ beforeMessage: z.string().min(1), ...moved }),
      ]),
      answer: rewound,
      handle: async ({ body, open, by }) => json(await (await open()).rewind({ ...body, ...by })),
    }),
    route({
      method: "post",
      path: "/api/sessions/{session}/checkout",
      action: "rewind",
      summary: "Makes another branch the active one.",
      body: z.strictObject({ branch: position, ...moved }),
      answer: rewound,
      handle: async ({ body: { branch, ...options }, open, by }) =>
        json(await (await open()).checkout(branch, { ...options, ...by })),
    }),
    route({
      method: "post",
      path: "/api/sessions/{session}/fork",
      action: "fork",
      summary: "Creates a session that shares the events up to a position.",
      body: z
        .strictObject({
          position: position.exactOptional(),
          id: z.string().min(1).exactOptional(),
        })
        .optional(),
      answer: z.object({ session: z.string() }),
      handle: async ({ body = {}, open, allow }) => {
        if (body.id !== undefined) await allow("create", parseSessionId(body.id));
        const fork = await (await open()).fork(body);
        return json({ session: fork.id }, 201);
      },
    }),
    route({
      method: "post",
      path: "/api/sessions/{session}/rerun",
      action: "fork",
      summary: "Runs a turn again in a fork, from a position or a step within it.",
      body: z
        .union([
          z.strictObject({ position, id: z.string().min(1).exactOptional() }),
          z.strictObject({ step: position, id: z.string().min(1).exactOptional() }),
          z.strictObject({ id: z.string().min(1).exactOptional() }),
        ])
        .optional(),
      answer: z.object({ session: z.string(), messageId: z.string(), position: z.int() }),
      handle: async ({ body, open, allow }) => {
        if (body?.id !== undefined) await allow("create", parseSessionId(body.id));
        const { session, turn, position: last } = await (await open()).rerun(body);
        return json({ session: session.id, messageId: turn.messageId, position: last }, 201);
      },
    }),
    route({
      method: "delete",
      path: "/api/sessions/{session}",
      action: "delete",
      summary:
        "Deletes a session permanently. `forks=copy` first copies shared events into its forks.",
      query: z.strictObject({ forks: z.enum(["refuse", "copy"]).exactOptional() }),
      answer: z.looseObject({ session: z.string() }),
      handle: async ({ query, runtime, session, by }) =>
        json(await runtime.delete(session, { ...query, ...by })),
    }),
  ];
}
