/**
 * Asks `authorize` about a request, and checks sessions against the metadata that it returns. Opens no session.
 */

import { z } from "zod";
import type { Permission } from "../commands/index.ts";
import { jsonObjectSchema, TurnlogError, type JsonObject } from "../events/index.ts";
import type { Runtime } from "../runtime/index.ts";
import { differentKey, readSummary } from "../state/index.ts";
import type { Authorization, Granted, ServerSettings } from "./server-options.ts";

const readingActions: ReadonlySet<Permission> = new Set(["list", "read", "export"]);

const schema: z.ZodType<Authorization> = z.union([
  z.boolean(),
  z.strictObject({ actor: z.string().exactOptional(), where: jsonObjectSchema.exactOptional() }),
]);

export class Permissions {
  readonly #runtime: Runtime;
  readonly #settings: Pick<ServerSettings, "authorize" | "isReadOnly">;

  constructor(runtime: Runtime, settings: Pick<ServerSettings, "authorize" | "isReadOnly">) {
    this.#runtime = runtime;
    this.#settings = settings;
  }

  /** `session`: empty for a request over all sessions. @throws TurnlogError `FORBIDDEN`, `CALLBACK_FAILED` */
  async of(request: Request, action: Permission, session: string): Promise<Granted> {
    if (this.#settings.isReadOnly && !readingActions.has(action)) {
      throw new TurnlogError(
        "FORBIDDEN",
        `Nothing can run or change here (${action}), since the server has no agent. Start it with --agent <module>.`,
      );
    }
    const permission = await this.#asked(request, action, session);
    if (permission !== undefined) return permission;
    const what = session === "" ? "" : ` in session ${session}`;
    throw new TurnlogError("FORBIDDEN", `You may not ${action}${what}.`);
  }

  /** With `where` only a session that exists. */
  async mayRead(request: Request, session: string): Promise<boolean> {
    return (await this.#asked(request, "read", session, false)) !== undefined;
  }

  async #asked(
    request: Request,
    action: Permission,
    session: string,
    ifMissing = true,
  ): Promise<Granted | undefined> {
    const { authorize } = this.#settings;
    if (authorize === undefined) return {};
    const requested = session === "" ? { action } : { action, session };
    const permission = permissionOf(await authorize(request, requested));
    if (permission?.where === undefined || session === "") return permission;
    // An imported session has the metadata of its file.
    const isAllowed =
      action !== "import" && (await this.#isOf(session, permission.where, ifMissing));
    return isAllowed ? permission : undefined;
  }

  /** @param ifMissing - For a session that does not exist: the client that creates it gives it the metadata. */
  async #isOf(session: string, where: JsonObject, ifMissing: boolean): Promise<boolean> {
    const { log } = this.#runtime;
    const revision = await log.revision(session);
    if (revision === 0) return ifMissing;
    const { metadata } = await readSummary(log, session, revision);
    return differentKey(metadata, where) === undefined;
  }
}

/** Undefined for a refusal. */
function permissionOf(answer: unknown): Granted | undefined {
  const { data } = schema.safeParse(answer);
  if (data === undefined)
    throw new TurnlogError(
      "CALLBACK_FAILED",
      "The server's `authorize` must return true, false, or an object with `actor`, `where` or both.",
    );
  if (typeof data !== "boolean") return data;
  return data ? {} : undefined;
}
