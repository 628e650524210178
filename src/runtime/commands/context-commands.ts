/** The methods of a session on its context: its figures, now or earlier, previews, and compaction on request. */

import { TurnlogError, type EventLog } from "../../events/index.ts";
import { stateAt } from "../../state/index.ts";
import { commandEventId } from "../session/command-outcome.ts";
import * as commands from "../session/commands.ts";
import type { SessionActor } from "../session/actor.ts";
import { readyActor } from "../live/ready-actor.ts";
import type { LiveSessions } from "../live/live-sessions.ts";
import type { Session } from "../api/session.ts";

interface ContextHost {
  readonly log: EventLog;
  readonly live: LiveSessions;
  /** The live actor of a session that is not closed. */
  readonly openActor: (command: string) => Promise<SessionActor>;
  readonly command: string | undefined;
  readonly executed: () => Promise<number | undefined>;
}

export function sessionContext(
  id: string,
  { log, live, openActor, command, executed }: ContextHost,
): Pick<Session, "compact" | "preview" | "context"> {
  return {
    async compact(strategy, options) {
      let from = await executed();
      if (from === undefined) {
        const actor = await openActor("compact");
        from = actor.state.position + 1;
        commands.assertIdle(actor, "compact");
        actor.prompts.request(strategy, options, commandEventId(command));
      }
      // Not until the session is idle: a queued message may start a turn at once.
      await live.watch(id, ({ state }) => !state.machine.matches("compacting") || undefined);
      for await (const event of log.read(id, { from })) {
        if (event.type === "context.compacted" || event.type === "context.compaction-rejected") {
          return event;
        }
      }
      throw new TurnlogError("SESSION_FAILED", `The compaction of session ${id} left no trace.`, {
        session: id,
      });
    },

    async preview({ compact, position } = {}) {
      const actor = await readyActor(live, id);
      const { state } = actor;
      await actor.durable();
      if (position === undefined) return actor.prompts.preview(state, compact);
      return actor.prompts.preview(await stateAt(log, id, position), compact);
    },

    async context({ position } = {}) {
      const actor = await readyActor(live, id);
      const { state } = actor;
      await actor.durable();
      if (position === undefined) return actor.prompts.figures(state);
      return actor.prompts.figures(await stateAt(log, id, position));
    },
  };
}
