/**
 * The login of one account at one server: OAuth 2.1 by the protocol's own client, with all that it learns in one text
 * of the token store. Tokens are renewed before they end, once for all calls that need them. Loaded with the client.
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
const RENEWING_MS = 1500;
const LOOK_MS = 100;
/** For as long, one address serves all who are asked to log in. */
const ADDRESS_MS = 600_000;

/** A login that has begun. */
interface Pending {
  readonly state: string;
  readonly verifier: string;
  readonly address: string;
  readonly since: number;
}

interface Known {
  readonly server: string;
  readonly account?: string | undefined;
  readonly client?: StoredOAuthClientInformation | undefined;
  readonly tokens?: StoredOAuthTokens | undefined;
  /** When the access token ends, if the server says so. */
  readonly endsAt?: number | undefined;
  readonly discovery?: OAuthDiscoveryState | undefined;
  readonly pending?: Pending | undefined;
}

/** Written by this file alone: what the client keeps there is passed back to it. */
const knownSchema: z.ZodType<Known> = z.object({
  server: z.string(),
  account: z.string().optional(),
  client: z.custom<StoredOAuthClientInformation>().optional(),
  tokens: z.custom<StoredOAuthTokens>().optional(),
  endsAt: z.number().optional(),
  discovery: z.custom<OAuthDiscoveryState>().optional(),
  pending: z
    .object({
      state: z.string(),
      verifier: z.string(),
      address: z.string(),
      since: z.number(),
    })
    .optional(),
});

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
  const text = await tokens.load(name);
  const known = text === undefined ? undefined : knownSchema.parse(JSON.parse(text));
  if (known?.server !== server || known.pending?.state !== state) return undefined;
  return { account: known.account };
}

export class Login implements AuthProvider {
  readonly #options: LoginOptions;
  readonly #name: string;
  /** The renewal or login that goes on: a second one would use up the same token. */
  #authorizing: Promise<void> | undefined;

  constructor(options: LoginOptions) {
    this.#options = options;
    this.#name = nameOf(options.server, options.account);
  }

  async token(): Promise<string | undefined> {
    const { tokens, endsAt = Infinity } = await this.#known();
    if (tokens === undefined || endsAt - this.#options.clock() > RENEWED_MS)
      return tokens?.access_token;
    if (tokens.refresh_token === undefined) return tokens.access_token;
    await this.#authorize();
    return (await this.#known()).tokens?.access_token;
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
    const { tokens } = await this.#known();
    const scopes = new Set(`${tokens?.scope ?? ""} ${scope ?? ""}`.trim().split(" "));
    await this.#authorize({ scope: [...scopes].join(" "), forceReauthorization: true });
  }

  /** The login stays begun until `end`: a process that dies before leaves it to another. @param query - Of the callback */
  async finish(query: URLSearchParams): Promise<void> {
    const { pending } = await this.#known();
    const provider = this.#provider(pending?.verifier);
    const transport = new StreamableHTTPClientTransport(new URL(this.#options.url), {
      authProvider: provider,
    });
    await transport.finishAuth(query);
  }

  /** The calls that waited for it have been told. */
  async end(): Promise<void> {
    await this.#learn({ pending: undefined });
  }

  async #authorize(options: Partial<AuthOptions> = {}): Promise<void> {
    this.#authorizing ??= this.#authorized(options).finally(() => {
      this.#authorizing = undefined;
    });
    await this.#authorizing;
  }

  async #authorized(options: Partial<AuthOptions>): Promise<void> {
    const { url, clock } = this.#options;
    const { pending, tokens } = await this.#known();
    const canRenew = tokens?.refresh_token !== undefined && options.forceReauthorization !== true;
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
          ? (await this.#known()).client
          : {
              client_id: clientId,
              ...(clientSecret !== undefined && { client_secret: clientSecret }),
            },
      saveClientInformation: async (client) => {
        if (clientId === undefined) await this.#learn({ client });
      },
      tokens: async () => {
        const { tokens } = await this.#known();
        used = tokens?.access_token;
        return tokens;
      },
      saveTokens: async (tokens) => {
        const { expires_in: seconds } = tokens;
        const endsAt = seconds === undefined ? undefined : this.#options.clock() + seconds * 1000;
        await this.#learn({ tokens, endsAt });
      },
      saveCodeVerifier: (given) => {
        made = given;
      },
      codeVerifier: () => made,
      discoveryState: async () => (await this.#known()).discovery,
      saveDiscoveryState: async (discovery) => await this.#learn({ discovery }),
      redirectToAuthorization: async ({ href: address }) => {
        const since = this.#options.clock();
        await this.#learn({ pending: { state, verifier: made, address, since } });
        throw new LoginNeeded(address);
      },
      invalidateCredentials: async (what) => {
        // Another process may have used the same token, and keeps what it got for it.
        const areOurs = what === "tokens" && (await this.#areLasting(used));
        const all = what === "all";
        await this.#learn({
          ...((all || what === "client") && { client: undefined }),
          ...((all || areOurs) && { tokens: undefined, endsAt: undefined }),
          ...((all || what === "discovery") && { discovery: undefined }),
        });
      },
    };
  }

  async #areLasting(used: string | undefined): Promise<boolean> {
    const areSame = async (): Promise<boolean> =>
      (await this.#known()).tokens?.access_token === used;
    for (let waited = 0; await areSame(); waited += LOOK_MS) {
      if (waited >= RENEWING_MS) return true;
      await delay(LOOK_MS, undefined, { ref: false });
    }
    return false;
  }

  async #known(): Promise<Known> {
    const { server, account, settings } = this.#options;
    const text = await settings.tokens.load(this.#name);
    if (text === undefined) return { server, account };
    return knownSchema.parse(JSON.parse(text));
  }

  async #learn(changes: Partial<Known>): Promise<void> {
    const known = { ...(await this.#known()), ...changes };
    await this.#options.settings.tokens.save(this.#name, JSON.stringify(known));
  }
}

type UnauthorizedContext = Parameters<NonNullable<AuthProvider["onUnauthorized"]>>[0];
