/** A log in memory that several runtimes share as processes share a database: with claims and an inbox. */

import {
  elsewhere,
  TurnlogError,
  type EventLog,
  type InboxCommand,
  type JsonValue,
} from "../../src/events/index.ts";
import { wrapLog } from "../../src/replay/index.ts";

/** Milliseconds between two looks for sessions to attend to. */
const LOOK_MS = 2;

interface Posted {
  readonly command: InboxCommand;
  readonly answer: PromiseWithResolvers<JsonValue>;
  isAnswered: boolean;
}

interface Run {
  owner: object | undefined;
  epoch: number;
  /** Its last process gave it up in the middle of a turn. */
  unfinished: boolean;
  readonly posted: Map<string, Posted>;
}

/** Each call opens the log once more, as another process. */
export function sharedLog(log: EventLog): () => EventLog {
  const runs = new Map<string, Run>();
  const runOf = (session: string): Run => {
    const run = runs.get(session) ?? {
      owner: undefined,
      epoch: 0,
      unfinished: false,
      posted: new Map(),
    };
    runs.set(session, run);
    return run;
  };
  const unanswered = ({ posted }: Run): readonly InboxCommand[] =>
    [...posted.values()].flatMap(({ command, isAnswered }) => (isAnswered ? [] : [command]));

  return () => {
    const own = {};
    const closed = new AbortController();
    const isOwn = ({ owner }: Run): boolean => owner === undefined || owner === own;
    return wrapLog(log, {
      append: async (session, expected, events, { epoch, ...options } = {}) => {
        const run = runOf(session);
        if (epoch !== undefined && (run.epoch !== epoch || run.owner !== own))
          throw elsewhere(session, true);
        return await log.append(session, expected, events, options);
      },
      ownership: {
        claim: async (session) => {
          const run = runOf(session);
          // Another runtime of this process may have it, too.
          if (run.owner !== undefined) return undefined;
          run.epoch += 1;
          Object.assign(run, { owner: own, unfinished: false });
          return {
            epoch: run.epoch,
            lost: new AbortController().signal,
            assertHeld: () => {
              if (run.owner !== own) throw elsewhere(session, true);
            },
            release: async ({ unfinished = false } = {}) => {
              if (run.owner === own) Object.assign(run, { owner: undefined, unfinished });
            },
          };
        },
        taken: async () => new Set([...runs].flatMap(([id, { owner }]) => (owner ? [id] : []))),
      },
      inbox: {
        post: async (session, command) => {
          const { posted } = runOf(session);
          if (posted.has(command.id)) return;
          const answer = Promise.withResolvers<JsonValue>();
          posted.set(command.id, { command, answer, isAnswered: false });
        },
        answerOf: async (session, id, signal) => {
          const { posted } = runOf(session);
          const ended = AbortSignal.any([closed.signal, ...(signal === undefined ? [] : [signal])]);
          const gone = Promise.withResolvers<never>();
          ended.addEventListener("abort", () => gone.reject(ended.reason), { once: true });
          if (ended.aborted) gone.reject(ended.reason);
          const { promise } = posted.get(id)?.answer ?? Promise.withResolvers<JsonValue>();
          const answer = await Promise.race([promise, gone.promise]);
          posted.delete(id);
          return answer;
        },
        unanswered: async (session) => unanswered(runOf(session)),
        answer: async (session, id, answer) => {
          const run = runOf(session);
          const one = run.posted.get(id);
          if (one === undefined || one.isAnswered || !isOwn(run)) return;
          one.isAnswered = true;
          one.answer.resolve(answer);
        },
        onDue: (see) => {
          const looking = setInterval(() => {
            for (const [session, run] of runs) {
              const isDue = run.unfinished || unanswered(run).length > 0;
              if (isDue && isOwn(run)) see(session);
            }
          }, LOOK_MS);
          closed.signal.addEventListener("abort", () => clearInterval(looking), { once: true });
          return { [Symbol.dispose]: () => clearInterval(looking) };
        },
      },
      close: async () => {
        for (const run of runs.values()) if (run.owner === own) run.owner = undefined;
        closed.abort(new TurnlogError("LOG_CLOSED", "This process has closed the log."));
      },
    });
  };
}
