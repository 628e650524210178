/** The approvals, output requests and limits that hold a turn, of one session and of all. */

import { z } from "zod";
import { defined } from "../../events/index.ts";
import { HeadRequest, json, route, type Call, type Route } from "../route/route.ts";
import { LOGIN_CALLBACK } from "../security/access.ts";
import { withShownQuestions } from "./shown-questions.ts";

const approval = z.looseObject({ approvalId: z.string(), toolName: z.string() });
const asked = z.object({
  approvals: z.array(approval),
  outputRequests: z.array(z.looseObject({ requestId: z.string(), toolName: z.string() })),
  budget: z.looseObject({ of: z.string(), unit: z.string(), limit: z.number() }).exactOptional(),
});

export function approvalRoutes(): readonly Route[] {
  return [
    route({
      name: "inbox",
      method: "get",
      path: "/api/approvals",
      action: "list",
      audience: "user",
      summary:
        "The approvals, outputs and limits that wait for people and clients, in all sessions.",
      answer: z.object({ waiting: z.array(asked.extend({ session: z.string() })) }),
      handle: async (call) => json({ waiting: await inbox(call) }),
    }),
    route({
      name: "finishLogin",
      method: "get",
      path: LOGIN_CALLBACK,
      action: "list",
      audience: "user",
      summary:
        "Where the login at an MCP server leads back to: finishes it for who may approve a call that waits for it, and lets those calls run.",
      query: z.looseObject({ state: z.string() }),
      answer: { kind: "media", mediaType: "text/plain", words: "That the login is done." },
      handle: async ({ runtime, request, may }) => {
        // What only looks at an address, such as a scanner of mails, does not log in.
        if (request instanceof HeadRequest) return new Response(null);
        const { server } = await runtime.finishLogin(new URL(request.url).searchParams, {
          mayAnswer: async ({ session }) => await may("approve", session),
        });
        return new Response(`You are logged in at ${server}. You can close this window.\n`, {
          headers: { "content-type": "text/plain; charset=utf-8" },
        });
      },
    }),
    route({
      name: "approvals",
      method: "get",
      path: "/api/sessions/{session}/approvals",
      action: "read",
      audience: "user",
      summary:
        "Every approval and output request of the session, oldest first, with its answer; the limit that holds its turn.",
      answer: asked,
      handle: async ({ open, hide }) => {
        const { approvals, outputRequests, budget } = await (await open()).view();
        return json(
          withShownQuestions({ approvals, outputRequests, ...defined({ budget }) }, hide),
        );
      },
    }),
  ];
}

async function inbox({
  runtime,
  may,
  where,
  shownSession,
  hide,
}: Pick<Call, "runtime" | "may" | "where" | "shownSession" | "hide">): Promise<readonly object[]> {
  const waiting: object[] = [];
  const all = Map.groupBy(
    await runtime.approvals(where === undefined ? {} : { where }),
    ({ session }) => session,
  );
  for (const [session, asked] of all) {
    if (where === undefined && !(await may("read", session))) continue;
    const budget = asked.find((one) => one.kind === "budget")?.budget;
    const questions = {
      approvals: asked.flatMap((one) => (one.kind === "approval" ? [one.approval] : [])),
      outputRequests: asked.flatMap((one) => (one.kind === "output" ? [one.request] : [])),
      ...defined({ budget }),
    };
    waiting.push({ session: shownSession(session), ...withShownQuestions(questions, hide) });
  }
  return waiting;
}
