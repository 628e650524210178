/**
 * The login of one account at one server: OAuth 2.1 by the protocol's own client, which keeps what it learns in the
 * token store. Tokens are renewed before they end, once for all calls that need them. Loaded with the client.
 */

import { hash, randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import {
  auth,
  extractWWWAuthenticateParams,
  StreamableHTTPClientTransport,
  type AuthOptions,
  type AuthProvider,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { z } from "zod";
import { LoginNeeded } from "./mcp-result.ts";
import type { McpLogin, TokenStore } from "./mcp-options.ts";

export interface LoginOptions {
  readonly server: string;
  readonly account: string | undefined;
  readonly url: string;
  readonly settings: McpLogin & { readonly tokens: TokenStore };
  readonly clock: () => number;
}

/** A token that ends sooner than this is renewed first. */
const RENEWED_MS = 60_000;
/** Milliseconds in which another process keeps what a renewal gave it. */
const RENEWING_MS = 3000;
const LOOK_MS = 100;
/** For as long, one address serves all who are asked to log in. */
const ADDRESS_MS = 600_000;

/** A login that has begun. */
const pendingSchema = z.object({
  server: z.string(),
  account: z.string().optional(),
  state: z.string(),
  verifier: z.string(),
  address: z.string(),
  since: z.number(),
});
type Pending = z.output<typeof pendingSchema>;

/**
 * One thing that a login learns, under a name of its own: two processes that share a token store never write each
 * other's old tokens back. What the protocol's client keeps in one is passed back to it as it is.
 */
class Entry<T> {
  readonly #tokens: TokenStore;
  readonly #name: string;
  readonly #schema: z.ZodType<T>;

  constructor(tokens: TokenStore, name: string, schema: z.ZodType<T>) {
    this.#tokens = tokens;
    this.#name = name;
    this.#schema = schema;
  }

  async load(): Promise<T | undefined> {
    const text = await this.#tokens.load(this.#name);
    return text === undefined ? undefined : z.array(this.#schema).parse(JSON.parse(text))[0];
  }

  async save(value: T | undefined): Promise<void> {
    await this.#tokens.save(this.#name, JSON.stringify(value === undefined ? [] : [value]));
  }
}

const renewableSchema = z.object({
  given: z.custom<StoredOAuthTokens>(),
  /** When the access token ends, if the server says so. */
  endsAt: z.number().optional(),
});
type Renewable = z.output<typeof renewableSchema>;

const pendingEntry = (tokens: TokenStore, name: string): Entry<Pending> =>
  new Entry(tokens, `${name}-pending`, pendingSchema);

/** The key under which an account's login is stored: a hash, so that it does not reveal the account. */
function nameOf(server: string, account: string | undefined): string {
  return `mcp-${hash("sha256", JSON.stringify([server, account ?? null])).slice(0, 32)}`;
}

/** The account whose login a callback finishes. Undefined if none of this server has begun it. */
export async function accountOf(
  server: string,
  tokens: TokenStore,
  state: string,
): Promise<{ readonly account: string | undefined } | undefined> {
  const [name = ""] = state.split(".");
  if (!/^mcp-[0-9a-f]{32}$/.test(name)) return undefined;
  const pending = await pendingEntry(tokens, name).load();
  if (pending?.server !== server || pending.state !== state) return undefined;
  return { account: pending.account };
}

export class Login implements AuthProvider {
  readonly #options: LoginOptions;
  readonly #name: string;
  readonly #client: Entry<StoredOAuthClientInformation>;
  readonly #tokens: Entry<Renewable>;
  readonly #discovery: Entry<OAuthDiscoveryState>;
  readonly #pending: Entry<Pending>;
  /** The running renewal or login: a second one would use up the same token. */
  #authorizing: Promise<void> | undefined;

  constructor(options: LoginOptions) {
    this.#options = options;
    this.#name = nameOf(options.server, options.account);
    const { tokens } = options.settings;
    this.#client = new Entry(
      tokens,
      `${this.#name}-client`,
      z.custom<StoredOAuthClientInformation>(),
    );
    this.#tokens = new Entry(tokens, `${this.#name}-tokens`, renewableSchema);
    this.#discovery = new Entry(tokens, `${this.#name}-discovery`, z.custom<OAuthDiscoveryState>());
    this.#pending = pendingEntry(tokens, this.#name);
  }

  async token(): Promise<string | undefined> {
    const { given, endsAt = Infinity } = (await this.#tokens.load()) ?? {};
    if (given?.refresh_token === undefined || endsAt - this.#options.clock() > RENEWED_MS)
      return given?.access_token;
    await this.#authorize();
    return await this.#accessToken();
  }

  /** @throws LoginNeeded if only a person can help */
  async onUnauthorized({ response, fetchFn }: UnauthorizedContext): Promise<void> {
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
    await this.#authorize({
      fetchFn,
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
      ...(scope !== undefined && { scope }),
    });
  }

  /** The server wants more than the account has allowed. @throws LoginNeeded */
  async widen(scope: string | undefined): Promise<void> {
    const tokens = await this.#tokens.load();
    const scopes = new Set(`${tokens?.given.scope ?? ""} ${scope ?? ""}`.trim().split(" "));
    await this.#authorize({ scope: [...scopes].join(" "), forceReauthorization: true });
  }

  /** The login stays begun until `end`: a process that dies before leaves it to another. @param query - Of the callback */
  async finish(query: URLSearchParams): Promise<void> {
    const pending = await this.#pending.load();
    const provider = this.#provider(pending?.verifier);
    const transport = new StreamableHTTPClientTransport(new URL(this.#options.url), {
      authProvider: provider,
    });
    await transport.finishAuth(query);
  }

  /** The calls that waited for it have been told. */
  async end(): Promise<void> {
    await this.#pending.save(undefined);
  }

  async #authorize(options: Partial<AuthOptions> = {}): Promise<void> {
    this.#authorizing ??= this.#authorized(options).finally(() => {
      this.#authorizing = undefined;
    });
    await this.#authorizing;
  }

  async #authorized(options: Partial<AuthOptions>): Promise<void> {
    const { url, clock } = this.#options;
    const [pending, tokens] = [await this.#pending.load(), await this.#tokens.load()];
    const canRenew =
      tokens?.given.refresh_token !== undefined && options.forceReauthorization !== true;
    if (!canRenew && pending !== undefined && clock() - pending.since < ADDRESS_MS)
      throw new LoginNeeded(pending.address);
    await auth(this.#provider(), { serverUrl: url, ...options });
  }

  #provider(verifier?: string): OAuthClientProvider {
    const { redirectUrl, clientId, clientSecret, scope } = this.#options.settings;
    const state = `${this.#name}.${randomBytes(24).toString("base64url")}`;
    let made = verifier ?? "";
    let used: string | undefined;
    return {
      redirectUrl,
      clientMetadata: {
        client_name: "turnlog",
        redirect_uris: [redirectUrl],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: clientSecret === undefined ? "none" : "client_secret_basic",
        ...(scope !== undefined && { scope }),
      },
      state: () => state,
      clientInformation: async () =>
        clientId === undefined
          ? await this.#client.load()
          : {
              client_id: clientId,
              ...(clientSecret !== undefined && { client_secret: clientSecret }),
            },
      saveClientInformation: async (client) => {
        if (clientId === undefined) await this.#client.save(client);
      },
      tokens: async () => {
        const given = (await this.#tokens.load())?.given;
        used = given?.access_token;
        return given;
      },
      saveTokens: async (given) => {
        const { expires_in: seconds } = given;
        const endsAt = seconds === undefined ? undefined : this.#options.clock() + seconds * 1000;
        await this.#tokens.save({ given, endsAt });
      },
      saveCodeVerifier: (given) => {
        made = given;
      },
      codeVerifier: () => made,
      discoveryState: async () => await this.#discovery.load(),
      saveDiscoveryState: async (discovery) => await this.#discovery.save(discovery),
      redirectToAuthorization: async ({ href: address }) => {
        const { server, account, clock } = this.#options;
        await this.#pending.save({
          server,
          account,
          state,
          verifier: made,
          address,
          since: clock(),
        });
        throw new LoginNeeded(address);
      },
      invalidateCredentials: async (what) => {
        // Another process may have used the same token, and keeps what it got for it.
        const areOurs = what === "tokens" && (await this.#areLasting(used));
        const all = what === "all";
        if (all || what === "client") await this.#client.save(undefined);
        if (all || areOurs) await this.#tokens.save(undefined);
        if (all || what === "discovery") await this.#discovery.save(undefined);
      },
    };
  }

  async #areLasting(used: string | undefined): Promise<boolean> {
    for (let waited = 0; (await this.#accessToken()) === used; waited += LOOK_MS) {
      if (waited >= RENEWING_MS) return true;
      await delay(LOOK_MS, undefined, { ref: false });
    }
    return false;
  }

  async #accessToken(): Promise<string | undefined> {
    return (await this.#tokens.load())?.given.access_token;
  }
}

type UnauthorizedContext = Parameters<NonNullable<AuthProvider["onUnauthorized"]>>[0];
