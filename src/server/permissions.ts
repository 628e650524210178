/**
 * Asks `authorize` who a client is, and finds the session that it means among those that it may see. Opens no session.
 */

import { z } from "zod";
import type { Permission } from "../commands/index.ts";
import {
  defined,
  parseSessionId,
  segmentOf,
  TurnlogError,
  type JsonObject,
} from "../events/index.ts";
import type { Runtime } from "../runtime/index.ts";
import { absentSession, differentKey, readSummary } from "../state/index.ts";
import { isRefusal } from "./problems/problem.ts";
import type { Audience } from "./route/route.ts";
import type { Authorization, Granted, ServerSettings } from "./server-options.ts";

const readingActions: ReadonlySet<Permission> = new Set(["list", "read", "export"]);

/** The name of a tenant begins an id of the store, so it begins as one. */
const tenantName = z.string().regex(/^[A-Za-z0-9]/, "a text that begins with a letter or a digit");

const jsonFields = z.record(z.string(), z.json());

const schema: z.ZodType<Authorization> = z.union([
  z.boolean(),
  z.null(),
  z.undefined(),
  z.strictObject({
    actor: z.string().exactOptional(),
    tenant: tenantName.exactOptional(),
    // A key whose value is undefined would fit each session without that key.
    where: jsonFields.exactOptional(),
    context: jsonFields.exactOptional(),
    audience: z.enum(["user", "operator"]).exactOptional(),
  }),
]);

/** What a request is about. */
export interface AskedOf {
  readonly action: Permission;
  /** As the client names it; empty for a request over all sessions. */
  readonly session: string;
  /** Whom the answer is for. */
  readonly audience: Audience;
  /** The id in the store of a session that is served already: another one that has that name by now is not meant. */
  readonly served?: string;
}

/** A request that may be served. */
export interface Grant {
  readonly actor?: string;
  readonly tenant?: string;
  /** That of the tenant too. */
  readonly where?: JsonObject;
  readonly context?: JsonObject;
  readonly audience: Audience;
  /** The id in the store. */
  readonly session: string;
}

type Settings = Pick<ServerSettings, "authorize" | "isReadOnly">;

export class Permissions {
  readonly #runtime: Runtime;
  readonly #settings: Settings;

  constructor(runtime: Runtime, settings: Settings) {
    this.#runtime = runtime;
    this.#settings = settings;
  }

  /** @throws TurnlogError `UNAUTHORIZED`, `FORBIDDEN`, `SESSION_NOT_FOUND`, `CALLBACK_FAILED` */
  async of(request: Request, asked: AskedOf): Promise<Grant> {
    const { action, session, audience, served } = asked;
    if (this.#settings.isReadOnly && !readingActions.has(action)) {
      throw new TurnlogError(
        "FORBIDDEN",
        `Nothing can run or change here (${action}), since the server has no agent. Start it with --agent <module>.`,
      );
    }
    const granted = await this.#granted(request, action, session);
    if (audience === "operator" && granted.audience !== "operator") throw forOperators(action);
    // An imported session has the metadata of its file.
    if (action === "import" && granted.where !== undefined) throw refused(action, session);
    const stored = await this.#stored(granted, session);
    const isMeant = served === undefined || served === stored;
    if (stored === undefined || !isMeant) throw absentSession(session);
    return { ...granted, session: stored };
  }

  /** Whether a session of the store may be read, or more. With `where` only one that exists. */
  async may(request: Request, asked: Required<AskedOf>): Promise<boolean> {
    try {
      const { where } = await this.of(request, asked);
      return where === undefined || (await this.#metadataOf(asked.served)) !== undefined;
    } catch (error) {
      if (isRefusal(error)) return false;
      throw error;
    }
  }

  async #granted(
    request: Request,
    action: Permission,
    session: string,
  ): Promise<Omit<Grant, "session">> {
    const { authorize } = this.#settings;
    if (authorize === undefined) return { audience: "operator" };
    const given = await authorize(request, session === "" ? { action } : { action, session });
    const { data: answer, success } = schema.safeParse(given);
    if (!success) throw wrongAnswer();
    if (answer === undefined || answer === null) {
      throw new TurnlogError(
        "UNAUTHORIZED",
        "Nobody is logged in. Log in, and repeat the request.",
      );
    }
    if (answer === false) throw refused(action, session);
    return grantOf(answer === true ? {} : answer);
  }

  /** The id in the store; undefined for a session that the client may not see. */
  async #stored(
    { tenant, where }: Omit<Grant, "session">,
    session: string,
  ): Promise<string | undefined> {
    if (session === "" || where === undefined) return session;
    const own = tenant === undefined ? session : tenantSession(tenant, session);
    // Another one has that name: from before its tenant had ids of its own, of a sub-agent, or made by a program.
    for (const id of own === session ? [own] : [own, session]) {
      const metadata = await this.#metadataOf(id);
      if (metadata === undefined) continue;
      if (differentKey(metadata, where) === undefined) return id;
      if (id === own) return undefined;
    }
    return own;
  }

  /** Undefined if there is no such session. */
  async #metadataOf(session: string): Promise<JsonObject | undefined> {
    const { log } = this.#runtime;
    const revision = await log.revision(session);
    if (revision === 0) return undefined;
    return (await readSummary(log, session, revision)).metadata ?? {};
  }
}

function grantOf({ where, audience = "user", ...granted }: Granted): Omit<Grant, "session"> {
  const { tenant } = granted;
  const all = tenant === undefined ? where : { ...where, tenant };
  return { ...granted, ...defined({ where: all }), audience };
}

/** The id in the store of a session that a client of a tenant names: by its own id, or by that in the store. */
function tenantSession(tenant: string, session: string): string {
  return parseSessionId(storedPrefix({ tenant }, session));
}

/** What the ids in the store begin with, for what those of a client begin with. */
export function storedPrefix({ tenant }: Pick<Grant, "tenant">, prefix: string): string {
  const own = tenant === undefined ? "" : beginningOf(tenant);
  return prefix.startsWith(own) ? prefix : `${own}${prefix}`;
}

/** The id of a session as a client of a tenant knows it. */
export function shownSession({ tenant }: Pick<Grant, "tenant">, stored: string): string {
  const own = tenant === undefined ? "" : beginningOf(tenant);
  // What begins as the tenant's ids of the store is taken for one of them.
  return stored.startsWith(own) && !stored.startsWith(own, own.length)
    ? stored.slice(own.length)
    : stored;
}

/** Whether a client learns that a session was deleted: that may have been another's, since its metadata are gone. */
export function seesDeleted({ tenant, where = {} }: Pick<Grant, "tenant" | "where">): boolean {
  return Object.keys(where).length === (tenant === undefined ? 0 : 1);
}

/** What the ids of a tenant's sessions begin with in the store. */
function beginningOf(tenant: string): string {
  return `${segmentOf(tenant)}/`;
}

function refused(action: Permission, session: string): TurnlogError {
  const where = session === "" ? "" : ` for session ${session}`;
  return new TurnlogError("FORBIDDEN", `You do not have the permission \`${action}\`${where}.`);
}

function forOperators(action: Permission): TurnlogError {
  return new TurnlogError(
    "FORBIDDEN",
    `You may not ${action} this: it is for operators (\`audience\`).`,
  );
}

function wrongAnswer(): TurnlogError {
  return new TurnlogError(
    "CALLBACK_FAILED",
    'The server\'s `authorize` must return true, false, undefined, or an object with some of `actor`, `tenant` (begins with a letter or a digit), `where` and `context` (of JSON, without undefined), and `audience` ("user" or "operator").',
  );
}
