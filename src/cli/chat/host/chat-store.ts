/** The store around a chat: its other sessions, and the models that may answer. */

import { listSessions, type ListedSession } from "../../../state/index.ts";
import type { ChatHost, ChatSession } from "./chat-session.ts";
import { typedText } from "./resumed-session.ts";

export interface ChatStore {
  /** Opens a session that is at rest or waits for an answer. Creates it if it does not exist. */
  open(id: string): Promise<ChatSession>;
  exists(id: string): Promise<boolean>;
  /** The sessions that can be resumed, newest first. */
  list(): Promise<readonly ListedSession[]>;
  /** The texts that people sent in other sessions, oldest first. */
  earlierTexts(but: string): Promise<readonly string[]>;
  readonly models?: ChatModels;
}

/** The models of a chat; absent where the agent of another process answers. */
export interface ChatModels {
  /** Its name, in the form of `--model`. */
  readonly current: string;
  /** Changes the model of a session, and of those opened later. @throws UsageError for a name that cannot be used */
  change(session: string, name: string): Promise<void>;
  /** Gives a session the model that was chosen since the start. */
  apply(session: string): Promise<void>;
}

/** Sessions whose texts Up brings back, and most events of each that are read for it. */
const SESSIONS = 10;
const EVENTS = 500;

export function chatStore(host: ChatHost, models?: ChatModels): ChatStore {
  const { log } = host;
  const list = async (): Promise<readonly ListedSession[]> => {
    const found = await Array.fromAsync(listSessions(log));
    return found
      .filter(({ status, problem }) => status !== "closed" && problem === undefined)
      .toSorted((one, other) => other.updatedAt - one.updatedAt);
  };
  return {
    ...(models === undefined ? {} : { models }),
    list,
    exists: async (id) => (await log.revision(id)) > 0,
    async open(id) {
      const session = await host.session(id);
      const { approvals } = await session.view();
      // Recovery settles the work of a dead process; a waiting approval stays open.
      if (!approvals.some(({ status }) => status === "waiting")) {
        await session.idle();
        await models?.apply(id);
      }
      return session;
    },
    async earlierTexts(but) {
      const newest = (await list()).filter(({ session }) => session !== but).slice(0, SESSIONS);
      const texts = await Promise.all(
        newest.toReversed().map(async ({ session }) => {
          const found: string[] = [];
          for await (const event of log.read(session, { backwards: true, limit: EVENTS })) {
            if (event.type === "message.queued") found.unshift(typedText(event.data.content));
          }
          return found;
        }),
      );
      return texts.flat();
    },
  };
}
