/** What a route is: its schemas, the action that it needs, and its handler. */

export {
  json,
  numberQuery,
  route,
  streamedBody,
  type Call,
  type Route,
  type ServerAction,
} from "./route.ts";
