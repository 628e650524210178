/** `Session.project` and `Session.follow`: a user's projections of a live session. */

import type { TurnlogError, EventLog, EventSchemas } from "../../events/index.ts";
import {
  checkPosition,
  projectedAt,
  projectedFrom,
  type ProjectionReader,
  type Projected,
} from "../../state/index.ts";
import type { Projection } from "../../projections/index.ts";
import type { LiveSessions } from "../live/live-sessions.ts";
import type { ProgramEvents } from "../api/program-events.ts";

interface ProjectionHost {
  readonly log: EventLog;
  readonly live: LiveSessions;
  readonly onWarning: (error: TurnlogError) => void;
}

export function sessionProjected(
  session: string,
  { log, live, onWarning }: ProjectionHost,
): Pick<ProgramEvents<EventSchemas>, "project" | "follow"> {
  const reader: ProjectionReader = {
    log,
    session,
    branches: async () => (await live.state(session)).branches,
    onWarning,
  };

  async function newest<State extends object>(
    projection: Projection<State>,
  ): Promise<Projected<State>> {
    const { position } = await live.state(session);
    return await projectedAt(reader, projection, position, true);
  }

  return {
    async project(projection, { position } = {}) {
      if (position === undefined) return await newest(projection);
      await live.state(session);
      await checkPosition(log, session, position);
      return await projectedAt(reader, projection, position, false);
    },

    async *follow(projection, { signal } = {}) {
      if (signal?.aborted === true) return;
      yield* projectedFrom(reader, projection, await newest(projection), signal);
    },
  };
}
