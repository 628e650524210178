/** All routes of the server. */

import { chatRoutes } from "./chat/index.ts";
import { messageRoutes } from "./messages/index.ts";
import type { Route } from "./route/index.ts";
import type { ServerSettings } from "./server-options.ts";
import {
  approvalRoutes,
  blobRoutes,
  commandRoutes,
  eventRoutes,
  queueRoutes,
  sessionRoutes,
  transferRoutes,
} from "./sessions/index.ts";
import { studioRoutes } from "./studio/index.ts";

/** The table of routes, in the order in which they are tried. */
export function routes({
  studio,
  isReadOnly,
}: Pick<ServerSettings, "studio" | "isReadOnly">): readonly Route[] {
  return [
    ...chatRoutes(),
    ...sessionRoutes(),
    ...commandRoutes(),
    ...queueRoutes(),
    ...eventRoutes(),
    ...approvalRoutes(),
    ...transferRoutes(),
    ...blobRoutes(),
    ...messageRoutes(),
    ...(studio ? studioRoutes(!isReadOnly) : []),
  ];
}
