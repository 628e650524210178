/**
 * The routes of the studio. Those that read use the log alone: unlike the routes of sessions, they never activate
 * a session, since that could record its recovery.
 */

import { z } from "zod";
import { verifySession } from "../../archive/verify/index.ts";
import { defined, readableEvents, TurnlogError, type EventLog } from "../../events/index.ts";
import { promptDiff, sentPrompt, spansUpTo, standingPrompt } from "../../projections/index.ts";
import { checkPosition, differentKey, outlineOf, sessionBranches } from "../../state/index.ts";
import {
  claimFork,
  json,
  jsonQuery,
  numberQuery,
  route,
  type Call,
  type Route,
} from "../route/route.ts";
import { eventsAnswer } from "../streams/permitted-events.ts";
import { experimentReport } from "./figures.ts";
import { billAt, figuresOf, listedCost, newestTurns } from "./figures.ts";
import { ListedRows, type StudioRow } from "./listed-rows.ts";
import { cutChange, cutMessage, mergedEvents } from "./shortened.ts";
import { NearStates, replayed } from "./near-states.ts";
import { sessionSearch } from "./session-search.ts";

const atPosition = z.strictObject({ position: numberQuery.optional() });
const anything = z.looseObject({});
const whatIf = z.strictObject({
  without: z.array(z.int()).exactOptional(),
  caching: z.boolean().exactOptional(),
  model: z.strictObject({ provider: z.string(), modelId: z.string() }).exactOptional(),
});

/** The most rows of an answer with events. */
const MOST_EVENTS = 4_000;
/** The most UTF-16 units of one, so that a page can show something soon. */
const MOST_TEXT = 2_000_000;
/** The most positions of one, joined deltas included: reading them takes the time. */
const MOST_POSITIONS = 10_000;

export function studioRoutes(canRun: boolean): readonly Route[] {
  const near = new NearStates();
  const rows = new ListedRows();
  return [
    route({
      name: "studioAbout",
      method: "get",
      path: "/api/studio/about",
      action: "list",
      summary: "What the studio of this server may do.",
      answer: z.object({ canRun: z.boolean() }),
      handle: async () => json({ canRun }),
    }),
    route({
      name: "studioSessions",
      method: "get",
      path: "/api/studio/sessions",
      action: "list",
      summary:
        "Sessions, newest first. `search` has words of their id, title, badge, error, model, agent or metadata, and filters like `status:failed user:ann since:2d`.",
      query: z.strictObject({
        limit: numberQuery.pipe(z.int().min(1).max(2_000)).optional(),
        search: z.string().optional(),
      }),
      answer: z.object({ sessions: z.array(anything), more: z.boolean() }),
      handle: async ({ query, ...call }) => json(await newest(rows, call, query)),
    }),
    route({
      name: "studioExperiments",
      method: "get",
      path: "/api/studio/experiments",
      action: "list",
      summary: "The experiments of which `compare` keeps runs in this store, newest first.",
      answer: z.object({ experiments: z.array(anything) }),
      handle: async (call) => {
        const { experimentsIn } = await import("../../compare/index.ts");
        return json({ experiments: await experimentsIn(readableRows(rows, call)) });
      },
    }),
    route({
      name: "studioExperiment",
      method: "get",
      path: "/api/studio/experiments/{name}",
      action: "list",
      summary:
        "The report on the runs of an experiment, without their turns; with `session` and `run`, that of one run with them.",
      query: z.strictObject({ session: z.string().optional(), run: numberQuery.optional() }),
      answer: z.looseObject({ sessions: z.array(anything), unread: z.int() }),
      handle: async ({ params, query, ...call }) =>
        json(await experimentReport(readableRows(rows, call), call, params["name"] ?? "", query)),
    }),
    route({
      name: "studioLog",
      method: "get",
      path: "/api/studio/sessions/{session}/log",
      action: "read",
      summary:
        "Events from a position, a page at a time; deltas of a block that follow each other are one.",
      query: z.strictObject({ from: numberQuery.optional(), to: numberQuery.optional() }),
      answer: z.object({ rows: z.array(anything), revision: z.int(), next: z.int().optional() }),
      handle: async ({ query: { from = 1, to }, session, runtime: { log } }) => {
        await checkPosition(log, session);
        return await page(log, session, from, to);
      },
    }),
    route({
      name: "studioNewest",
      method: "get",
      path: "/api/studio/sessions/{session}/newest",
      action: "read",
      summary:
        "The last turns, as `log` returns them: all events from a position, which is 1 for a short log.",
      answer: z.object({ rows: z.array(anything), from: z.int(), revision: z.int() }),
      handle: async ({ session, runtime: { log } }) => {
        await checkPosition(log, session);
        const { from, events } = await newestTurns(log, session);
        const rows = await Array.fromAsync(mergedEvents(events));
        return json({ rows, from, revision: events.at(-1)?.position ?? from - 1 });
      },
    }),
    route({
      name: "studioEvents",
      method: "get",
      path: "/api/studio/sessions/{session}/events",
      action: "read",
      summary: "Events from a position, stored ones and then live ones. Activates no session.",
      query: z.strictObject({ from: numberQuery.optional() }),
      answer: {
        kind: "media",
        mediaType: "text/event-stream",
        words: "One event each: `id` is its position, `data` the event as JSON.",
      },
      handle: async (call) => {
        await checkPosition(call.runtime.log, call.session);
        return follow(call, call.query.from);
      },
    }),
    route({
      name: "studioState",
      method: "get",
      path: "/api/studio/sessions/{session}/state",
      action: "read",
      summary:
        "The state at a position without its history: machine, queue, open calls, usage, cost, branches.",
      query: atPosition,
      answer: anything,
      handle: async ({ query: { position: at }, session, runtime: { log } }) => {
        const position = at ?? (await log.revision(session));
        const state = await near.at(log, session, position);
        const branches = sessionBranches(state).map((branch) => ({
          ...branch,
          spans: spansUpTo(state.branches, branch.head),
        }));
        return json({ ...outlineOf(session, state), branches, ...(await figuresOf(state)) });
      },
    }),
    route({
      name: "studioPrompt",
      method: "get",
      path: "/api/studio/sessions/{session}/prompt",
      action: "read",
      summary:
        "What a step would send at a position, long messages cut; with `message`, that one whole.",
      query: z.strictObject({ position: numberQuery.optional(), message: numberQuery.optional() }),
      answer: z.looseObject({ position: z.int(), messages: z.array(z.unknown()) }),
      handle: async ({ query: { position: at, message }, session, runtime: { log } }) => {
        const position = at ?? (await log.revision(session));
        const { messages, ...standing } = sentPrompt(await near.at(log, session, position));
        const shown =
          message === undefined ? messages.map(cutMessage) : messages.slice(message, message + 1);
        return json({ position, ...standing, messages: shown });
      },
    }),
    route({
      name: "studioDiff",
      method: "get",
      path: "/api/studio/sessions/{session}/diff",
      action: "read",
      summary:
        "The difference between the prompts at two positions, long messages cut, and what the second has besides them; with `change`, that one whole.",
      query: z.strictObject({
        before: numberQuery,
        after: numberQuery,
        change: numberQuery.optional(),
      }),
      answer: anything,
      handle: async ({ query: { before, after, change }, session, runtime: { log } }) => {
        const one = await near.at(log, session, before);
        const other = await near.at(log, session, after);
        const diff = promptDiff(one, other);
        const changes =
          change === undefined
            ? diff.changes.map(cutChange)
            : diff.changes.slice(change, change + 1);
        return json({ session, before, after, ...diff, changes, beside: standingPrompt(other) });
      },
    }),
    route({
      name: "studioBill",
      method: "get",
      path: "/api/studio/sessions/{session}/bill",
      action: "read",
      summary:
        "The bill at a position, with `whatIf` a computed one too, and what the sub-agents cost.",
      query: z.strictObject({
        position: numberQuery.optional(),
        whatIf: jsonQuery.pipe(whatIf).optional(),
      }),
      answer: anything,
      handle: async ({ query, session, runtime: { log } }) =>
        json(await billAt(log, session, defined(query))),
    }),
    route({
      name: "studioRerun",
      method: "post",
      path: "/api/studio/sessions/{session}/rerun",
      action: "fork",
      summary: "Runs a turn again in a fork, with another model of the AI Gateway or instructions.",
      body: z.strictObject({
        position: z.int().positive().exactOptional(),
        model: z.string().min(1).exactOptional(),
        instructions: z.string().min(1).exactOptional(),
      }),
      answer: z.object({ session: z.string() }),
      handle: async ({ body, open, where, shownSession }) => {
        const { session: fork } = await (await open()).rerun(body);
        await claimFork({ where }, fork);
        return json({ session: shownSession(fork.id) }, 201);
      },
    }),
    route({
      name: "studioReplay",
      method: "post",
      path: "/api/studio/sessions/{session}/replay",
      // The agent's functions are called, as in a rerun.
      action: "fork",
      summary:
        "Runs the agent against the recorded answers, and compares each event. Calls no model and no tool, and records nothing.",
      answer: z.object({ events: z.int(), difference: anything.optional() }),
      handle: async ({ session, runtime }) => json(await replayed(runtime, session)),
    }),
    route({
      name: "studioVerify",
      method: "get",
      path: "/api/studio/sessions/{session}/verify",
      action: "read",
      summary: "Checks the log of the session, as `turnlog verify` does.",
      answer: anything,
      handle: async ({ session, runtime: { log } }) => json(await verifySession(log, session)),
    }),
  ];
}

type Reader = Pick<Call, "runtime" | "may" | "where">;

/** The rows that the client may read, newest first. */
async function* readableRows(
  rows: ListedRows,
  { runtime: { log }, may, where }: Reader,
  isFound: (row: StudioRow) => boolean = () => true,
): AsyncGenerator<StudioRow, void, void> {
  for await (const row of rows.newest(log)) {
    if (differentKey(row.metadata, where) !== undefined || !isFound(row)) continue;
    if (where === undefined && !(await may("read", row.session))) continue;
    yield row;
  }
}

/** `dollars`: the cost at the price of the last model; absent if that is not known. */
type CostedRow = StudioRow & { readonly dollars?: number };

async function newest(
  rows: ListedRows,
  call: Reader,
  {
    limit = 200,
    search = "",
  }: { readonly limit?: number | undefined; readonly search?: string | undefined },
): Promise<{ readonly sessions: readonly CostedRow[]; readonly more: boolean }> {
  const sessions: CostedRow[] = [];
  const isFound = sessionSearch(search, Date.now());
  for await (const row of readableRows(rows, call, isFound)) {
    if (sessions.length === limit) return { sessions, more: true };
    const dollars = await listedCost(row);
    sessions.push(dollars === undefined ? row : { ...row, dollars });
  }
  return { sessions, more: false };
}

/** Events that cannot be read, and are left out. */
interface Problem {
  readonly code: string;
  readonly message: string;
  readonly position?: number;
}

/** Makes the text of the answer itself: its length decides where the page ends. */
async function page(log: EventLog, session: string, from: number, to?: number): Promise<Response> {
  const revision = await log.revision(session);
  const last = Math.min(to ?? revision, revision);
  const problems: Problem[] = [];
  const leftOut = ({ code, message, position }: TurnlogError): void => {
    problems.push({ code, message, ...(position === undefined ? {} : { position }) });
  };
  const rows: string[] = [];
  let length = 0;
  let next: number | undefined;
  try {
    const events = readableEvents(log, session, { from, to: last }, leftOut);
    for await (const row of mergedEvents(events)) {
      const text = JSON.stringify(row);
      rows.push(text);
      length += text.length;
      const end = row.last?.position ?? row.event.position;
      const isFull =
        rows.length === MOST_EVENTS || length > MOST_TEXT || end - from >= MOST_POSITIONS;
      if (isFull && end < last) {
        next = end + 1;
        break;
      }
    }
  } catch (error) {
    // The rows before the damage can still be shown.
    if (!TurnlogError.isInstance(error)) throw error;
    leftOut(error);
  }
  const rest = JSON.stringify({ revision, next, problems });
  return new Response(`{"rows":[${rows.join(",")}],${rest.slice(1)}`, {
    headers: { "content-type": "application/json" },
  });
}

function follow(call: Call, given: number | undefined): Response {
  const {
    request,
    runtime: { log },
    session,
  } = call;
  const cursor = request.headers.get("last-event-id");
  const from = cursor !== null && /^\d{1,15}$/.test(cursor) ? Number(cursor) + 1 : (given ?? 1);
  return eventsAnswer(
    (signal) => log.subscribe(session, { from: Math.max(1, from), signal }),
    call,
  );
}
