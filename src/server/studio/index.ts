/** The studio: its page, how a browser signs in, and the routes that it reads sessions by. */

export { StudioSignIn } from "./sign-in.ts";
export { NearStates } from "./near-states.ts";
export { wholeTurns } from "./newest-turns.ts";
export { studioFile } from "./page-files.ts";
export { studioRoutes } from "./studio-routes.ts";
