/**
 * The routes of the studio's page. They are apart from the server, so that the types of the package do not name
 * hono.
 */

import type { Hono } from "hono";
import type { RequestGuard } from "./request-guard.ts";

export function addStudioPages(app: Hono, guard: RequestGuard): void {
  app.post("/api/studio/sign-in", ({ req }) => guard.signIn(req.raw));
  app.get("/:file?", ({ req }) => guard.studioPage(req.raw));
  app.get("/assets/:file", ({ req }) => guard.studioPage(req.raw));
}
