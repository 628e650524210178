/** The routes of the studio's page. Apart from the server: the types of the package do not name hono. */

import type { Hono } from "hono";
import type { Door } from "./door.ts";

export function addStudioPages(app: Hono, door: Door): void {
  app.post("/api/studio/sign-in", ({ req }) => door.signIn(req.raw));
  app.get("/:file?", ({ req }) => door.studioPage(req.raw));
  app.get("/assets/:file", ({ req }) => door.studioPage(req.raw));
}
