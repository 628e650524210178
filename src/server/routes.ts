/** All routes of the server. */

import { chatRoutes } from "./chat/index.ts";
import { messageRoutes } from "./messages/index.ts";
import type { Route } from "./route/index.ts";
import {
  approvalRoutes,
  blobRoutes,
  commandRoutes,
  eventRoutes,
  queueRoutes,
  sessionRoutes,
  transferRoutes,
} from "./sessions/index.ts";

/** The table of routes, in the order in which they are tried. */
export function routes(): readonly Route[] {
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
  ];
}
