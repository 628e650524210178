/** The approvals and output requests of one session and of all. */

import { z } from "zod";
import { sessionOfAsked } from "../../events/index.ts";
import type { SessionView } from "../../state/index.ts";
import { json, route, type Call, type Route } from "../route/route.ts";

const approval = z.looseObject({ approvalId: z.string(), toolName: z.string() });
const asked = z.object({
  approvals: z.array(approval),
  outputRequests: z.array(z.looseObject({ requestId: z.string(), toolName: z.string() })),
});

export function approvalRoutes(): readonly Route[] {
  return [
    route({
      method: "get",
      path: "/api/approvals",
      action: "list",
      summary: "The approvals and outputs that wait for people and clients, in all sessions.",
      answer: z.object({ waiting: z.array(asked.extend({ session: z.string() })) }),
      handle: async (call) => json({ waiting: await inbox(call) }),
    }),
    route({
      method: "get",
      path: "/api/sessions/{session}/approvals",
      action: "read",
      summary: "Every approval and output request of the session, oldest first, with its answer.",
      answer: asked,
      handle: async ({ open }) => {
        const { approvals, outputRequests } = await (await open()).view();
        return json({ approvals, outputRequests });
      },
    }),
    route({
      method: "delete",
      path: "/api/sessions/{session}/approvals/{tool}",
      action: "approve",
      summary: "Removes the answer with `always` for a tool, so that its next call asks again.",
      answer: z.object({}),
      handle: async ({ params: { tool = "" }, open }) => {
        await (await open()).forgetApproval(tool);
        return json({});
      },
    }),
    route({
      method: "post",
      path: "/api/approvals/{approvalId}",
      action: ({ approved }) => (approved ? "approve" : "deny"),
      summary: "Approves or denies a call. Repeating the same answer changes nothing.",
      body: z.strictObject({
        approved: z.boolean(),
        reason: z.string().exactOptional(),
        always: z.boolean().exactOptional(),
      }),
      answer: z.object({ status: z.enum(["recorded", "already-answered"]), approval }),
      sessionOf: ({ params }) => sessionOfAsked(params["approvalId"] ?? ""),
      handle: async ({ body: { approved, ...answer }, params, open, by }) => {
        const { approvalId = "" } = params;
        const session = await open();
        return json(
          await (approved
            ? session.approve(approvalId, { ...answer, ...by })
            : session.deny(approvalId, { ...answer, ...by })),
        );
      },
    }),
    route({
      method: "post",
      path: "/api/outputs/{requestId}",
      action: "answer",
      summary: "Gives the output of a call that a client runs, or the text of its error.",
      body: z.union([
        z.strictObject({ output: z.unknown() }),
        z.strictObject({ error: z.string() }),
      ]),
      answer: z.object({
        status: z.enum(["recorded", "already-answered"]),
        request: z.looseObject({ requestId: z.string() }),
      }),
      sessionOf: ({ params }) => sessionOfAsked(params["requestId"] ?? ""),
      handle: async ({ body, params: { requestId = "" }, open, by }) => {
        return json(await (await open()).answerCall(requestId, { ...body, ...by }));
      },
    }),
  ];
}

async function inbox({
  runtime,
  mayRead,
  where,
}: Pick<Call, "runtime" | "mayRead" | "where">): Promise<readonly Waiting[]> {
  const waiting: Waiting[] = [];
  const questions = Map.groupBy(
    await runtime.approvals(where === undefined ? {} : { where }),
    ({ session }) => session,
  );
  for (const [session, asked] of questions) {
    if (where === undefined && !(await mayRead(session))) continue;
    waiting.push({
      session,
      approvals: asked.flatMap((one) => (one.kind === "approval" ? [one.approval] : [])),
      outputRequests: asked.flatMap((one) => (one.kind === "output" ? [one.request] : [])),
    });
  }
  return waiting;
}

type Waiting = Pick<SessionView, "session" | "approvals" | "outputRequests">;
