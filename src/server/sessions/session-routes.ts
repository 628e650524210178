/** Routes that read sessions: the list, views, prompts, differences, figures, branches. */

import { z } from "zod";
import { defined, hasCode, jsonObjectSchema, TurnlogError } from "../../events/index.ts";
import {
  absentSession,
  bothMetadata,
  type SessionQuery,
  type SessionRow,
} from "../../state/index.ts";
import { json, jsonQuery, numberQuery, route, type Call, type Route } from "../route/route.ts";
import { withShownQuestions } from "./shown-questions.ts";

const statuses = [
  "idle",
  "running",
  "awaiting-approval",
  "awaiting-output",
  "awaiting-budget",
  "closed",
] as const;
const row = z.looseObject({
  session: z.string(),
  revision: z.int(),
  createdAt: z.number(),
  updatedAt: z.number(),
  title: z.string(),
  status: z.enum(statuses),
});
const view = z.looseObject({ session: z.string(), position: z.int() });
const atPosition = z.strictObject({ position: numberQuery.optional() });

const metadataQuery = jsonQuery.pipe(jsonObjectSchema);

type After = NonNullable<SessionQuery["after"]>;

const placeSchema = z.union([
  z.tuple([z.string(), z.number(), z.number()]),
  z.tuple([z.string(), z.number(), z.number(), z.number()]),
]);

/** The place in a cursor. */
const cursorQuery = z.string().transform((text, context): After => {
  try {
    const [session, createdAt, updatedAt, lastTurnAt] = placeSchema.parse(
      JSON.parse(Buffer.from(text, "base64url").toString()),
    );
    const place = { session, createdAt, updatedAt };
    return lastTurnAt === undefined ? place : { ...place, lastTurnAt };
  } catch {
    context.addIssue({ code: "custom", message: "the `next` of the previous page" });
    return z.NEVER;
  }
});

const MOST_ROWS = 200;
const listQuery = z.strictObject({
  after: cursorQuery.optional(),
  prefix: z.string().optional(),
  status: z.enum(statuses).optional(),
  where: metadataQuery.optional(),
  empty: z.enum(["true", "false"]).optional(),
  limit: numberQuery.pipe(z.int().min(1).max(MOST_ROWS)).optional(),
});

export function sessionRoutes(): readonly Route[] {
  return [
    route({
      name: "sessions",
      method: "get",
      path: "/api/sessions",
      action: "list",
      audience: "user",
      summary:
        "Sessions, newest first by the beginning of their last turn, a page at a time. `after` is the `next` of the previous page; `where` is a JSON object of metadata that they must have. Sessions without a message come with `empty=true` only.",
      query: listQuery,
      answer: z.object({ sessions: z.array(row), next: z.string().optional() }),
      handle: async ({ query, ...call }) => json(await page(call, query)),
    }),
    route({
      name: "storeBill",
      method: "get",
      path: "/api/bill",
      action: "list",
      summary:
        "What all sessions have spent, the dearest first, sums of deleted ones included. `by` names what they are summed by, with commas: `day`, `actor`, `agent`, `model`, `purpose`, `subAgent`, `tenant`, and declared keys of the metadata. `from` and `to` are UTC days; `where` is a JSON object of the same names.",
      query: z.strictObject({
        by: z.string().optional(),
        from: z.string().optional(),
        to: z.string().optional(),
        where: metadataQuery.optional(),
      }),
      answer: z.object({
        bill: z.array(z.looseObject({ of: z.looseObject({}), dollars: z.number() })),
      }),
      handle: async ({ query: { by, where: asked, ...days }, where: permitted, runtime }) => {
        const where = permitted === undefined ? asked : bothMetadata(asked, permitted);
        if (permitted !== undefined && where === undefined) return json({ bill: [] });
        const query = defined({ ...days, where, by: by?.split(",") });
        return json({ bill: await runtime.bill(query) });
      },
    }),
    route({
      name: "createSession",
      method: "post",
      path: "/api/sessions",
      action: "create",
      audience: "user",
      summary:
        "Creates a session, or opens the one of that id. Without `id`, a new id is made. `agent` names its agent.",
      body: z
        .strictObject({
          id: z.string().min(1).optional(),
          agent: z.string().min(1).optional(),
          metadata: jsonObjectSchema.optional(),
        })
        .optional(),
      answer: view,
      status: 201,
      sessionOf: ({ body }) => body?.id,
      handle: async (call) => {
        const { id: given, ...fields } = call.body ?? {};
        const made = given === undefined ? call.newId() : undefined;
        const { id } = await call.open({ ...fields, create: true, id: made });
        const position = await call.runtime.log.revision(id);
        return json({ session: call.shownSession(id), position }, 201);
      },
    }),
    route({
      name: "prompt",
      method: "get",
      path: "/api/sessions/{session}/prompt",
      action: "read",
      summary:
        "What the next step would send, now or at a position: instructions, tools, settings, messages.",
      query: atPosition,
      answer: z.looseObject({ position: z.int(), messages: z.array(z.unknown()) }),
      handle: async ({ query: { position }, open }) => {
        const session = await open();
        const seen = await (position === undefined ? session.view() : session.at(position));
        return json({ position: seen.position, ...seen.prompt });
      },
    }),
    route({
      name: "queue",
      method: "get",
      path: "/api/sessions/{session}/queue",
      action: "read",
      audience: "user",
      summary:
        "The waiting messages: those that may be delivered now, in their order, then scheduled ones.",
      answer: z.object({ position: z.int(), messages: z.array(z.looseObject({ id: z.string() })) }),
      handle: async ({ open }) => {
        const { position, queue } = await (await open()).view();
        return json({ position, messages: queue });
      },
    }),
    route({
      name: "delete",
      method: "delete",
      path: "/api/sessions/{session}",
      action: "delete",
      audience: "user",
      summary:
        "Deletes a session permanently. `forks=copy` first copies shared events into its forks, `cancel=true` first ends its turn, `bill=forget` also removes what it spent from all sums, for operators only.",
      query: z.strictObject({
        forks: z.enum(["refuse", "copy"]).exactOptional(),
        cancel: z.enum(["true", "false"]).exactOptional(),
        bill: z.enum(["keep", "forget"]).exactOptional(),
      }),
      answer: z.looseObject({ session: z.string() }),
      handle: async ({ query: { forks, cancel, bill }, ...call }) => {
        const { runtime, session, by, allow, shownSession } = call;
        if (cancel === "true") await allow("cancel");
        // A user could get back what a limit has counted.
        if (bill === "forget" && call.audience === "user") throw keptBill(session);
        // A repeated deletion says that the session was deleted.
        if (!call.seesDeleted && (await runtime.log.revision(session)) === 0)
          throw absentSession(session);
        const options = defined({ forks, bill, ...(cancel === "true" && { cancel: true }) });
        const deleted = await runtime
          .delete(session, { ...options, ...by })
          .catch((error: unknown) => {
            throw call.audience === "user" ? withoutForks(error, session) : error;
          });
        const { forks: _, children: __, ...rest } = deleted;
        const shown = call.audience === "user" ? rest : deleted;
        return json({ ...shown, session: shownSession(session) });
      },
    }),
  ];
}

function keptBill(session: string): TurnlogError {
  return new TurnlogError(
    "FORBIDDEN",
    `You may not make the sums of spending forget session ${session}: that is for operators (\`audience\`). Delete it without \`bill=forget\`.`,
    { session },
  );
}

/** Forks may be those of others. */
function withoutForks(error: unknown, session: string): unknown {
  if (!hasCode(error, "SESSION_HAS_FORKS")) return error;
  return new TurnlogError(
    "SESSION_HAS_FORKS",
    `Session ${session} was not deleted: forks share its events. Give them copies (\`forks: "copy"\`).`,
    { session, cause: error },
  );
}

/** Sessions that the client may not read are left out, and later ones fill the page. */
async function page(
  call: Pick<Call, ShownBy | "runtime" | "may" | "where" | "storedPrefix">,
  { after, prefix, status, where: asked, empty, limit = 50 }: z.output<typeof listQuery>,
): Promise<{ readonly sessions: readonly object[]; readonly next?: string }> {
  const { runtime, may, where: permitted } = call;
  const sessions: SessionRow[] = [];
  const shown = (): readonly object[] => sessions.map((row) => shownRow(row, call));
  const where = permitted === undefined ? asked : bothMetadata(asked, permitted);
  if (permitted !== undefined && where === undefined) return { sessions: [] };
  const named = defined({ after, prefix: prefix && call.storedPrefix(prefix), status, where });
  const query = { ...named, empty: empty === "true" };
  for await (const found of runtime.sessions(query)) {
    if (permitted === undefined && !(await may("read", found.session))) continue;
    const last = sessions.at(-1);
    if (sessions.length === limit && last !== undefined)
      return { sessions: shown(), next: cursorOf(last) };
    sessions.push(found);
  }
  return { sessions: shown() };
}

type ShownBy = "shownSession" | "hide" | "audience" | "by";

/** A row with its sessions as the client knows them, and for a user without figures and the inner workings. */
function shownRow(
  { session, forkedFrom, parent, ...row }: SessionRow,
  { shownSession, hide, audience, by: { by = "" } }: Pick<Call, ShownBy>,
): object {
  const origins = defined({
    forkedFrom: forkedFrom && { ...forkedFrom, session: shownSession(forkedFrom.session) },
    parent: parent && { ...parent, session: shownSession(parent.session) },
  });
  const named = { session: shownSession(session), ...row, ...origins };
  if (audience === "operator") return named;
  const {
    total,
    model,
    inherited: _,
    agentDigest: _digest,
    agentFrom: _from,
    problem,
    seen = {},
    ...rest
  } = named;
  const own = Object.entries(seen).filter(([actor]) => actor === by);
  return {
    ...withShownQuestions(rest, hide),
    ...(own.length === 0 ? {} : { seen: Object.fromEntries(own) }),
    ...(hide.includes("usage") ? {} : { total }),
    ...(hide.includes("model") ? {} : defined({ model })),
    ...(problem === undefined ? {} : { problem: { code: problem.code } }),
  };
}

/** A cursor is the place of the last row, as text that URLs need not escape. */
function cursorOf({ session, createdAt, updatedAt, lastTurnAt }: SessionRow): string {
  const place = [session, createdAt, updatedAt, ...(lastTurnAt === undefined ? [] : [lastTurnAt])];
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}
