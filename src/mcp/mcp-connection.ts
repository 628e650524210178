/** One connection to an MCP server through the protocol's own client. Loaded when a server is first needed. */

import { setTimeout as delay } from "node:timers/promises";
import {
  Client,
  InsufficientScopeError,
  isInputRequiredResult,
  isSpecType,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
  type ElicitRequestParams,
  type ElicitResult,
  type InputRequiredResult,
  type GetPromptRequest,
  type GetPromptResult,
  type ListPromptsResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type Progress,
  type ReadResourceResult,
} from "@modelcontextprotocol/client";
import { z } from "zod";
import { hasCode } from "../events/index.ts";
import { firstAbort, LONGEST_TIMEOUT_MS, unlessAborted } from "../shared/index.ts";
import { callAnswer, NotRun, type CallAnswer } from "./mcp-result.ts";
import { HttpTransport } from "./http-transport.ts";
import type { Login } from "./mcp-login.ts";
import type { ListedTool, McpServer } from "./mcp-options.ts";
import { NO_ANSWER } from "./pending-requests.ts";
import { StdioTransport } from "./stdio-transport.ts";

export interface ConnectionOptions {
  readonly server: McpServer;
  readonly account: string | undefined;
  /** Undefined for a server without logins. */
  readonly login: Login | undefined;
  /** Milliseconds for the start. */
  readonly timeoutMs: number;
  /** Aborted when the connection is no longer needed. */
  readonly signal: AbortSignal;
  /** Called once, when the connection is lost. */
  readonly onEnd: () => void;
  readonly onToolsChanged: () => void;
}

export interface McpCall {
  readonly tool: string;
  readonly input: Record<string, unknown>;
  readonly onProgress: (progress: Progress) => void;
  readonly session: string | undefined;
  readonly onQuestion: (question: ElicitRequestParams) => Promise<ElicitResult>;
}

export interface McpConnection {
  list(timeoutMs: number): Promise<readonly ListedTool[]>;
  resources(timeoutMs: number): Promise<McpResources>;
  read(uri: string, timeoutMs: number): Promise<ReadResourceResult>;
  prompts(timeoutMs: number): Promise<ListPromptsResult["prompts"]>;
  prompt(request: GetPromptRequest["params"], timeoutMs: number): Promise<GetPromptResult>;
  /** Rejects when it is abandoned, and when there is no answer. */
  call(call: McpCall): Promise<CallAnswer>;
  /** The answer of the call is still awaited. */
  cancel(input: Record<string, unknown>): void;
  abandon(input: Record<string, unknown>, why: string): void;
  /** The end of the server's output that is not part of the protocol. */
  readonly lastOutput: string;
  /** Resolves when the connection is closed and a process has ended. */
  close(): Promise<void>;
}

export interface McpResources {
  readonly resources: ListResourcesResult["resources"];
  readonly templates: ListResourceTemplatesResult["resourceTemplates"];
}

/** Most pages of a list, against a server whose list never ends. */
const MOST_PAGES = 100;
const CLOSE_MS = 3000;
/** Milliseconds until a process that does not answer the first question is taken for one of an earlier version. */
const PROBE_MS = 1000;
/** Most times that one call asks a person for something. */
const MOST_ROUNDS = 20;

/** @throws what the start failed with; of a process nothing is left then. */
export async function connect(
  options: ConnectionOptions,
  mode: "auto" | "legacy" = "auto",
): Promise<McpConnection> {
  const { server, timeoutMs, signal, onToolsChanged } = options;
  const wire = wireTo(options);
  const client = new Client(
    { name: "turnlog", version: "1.0.0" },
    {
      capabilities: { elicitation: { form: {}, url: {} } },
      listMaxPages: MOST_PAGES,
      versionNegotiation: {
        mode,
        probe: { timeoutMs: server.command === undefined ? timeoutMs : PROBE_MS },
      },
    },
  );
  const running = new Set<McpCall>();
  client.setNotificationHandler("notifications/tools/list_changed", onToolsChanged);
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    // Over HTTP a question comes with the answer to its call. A pipe does not say: then only one session may have calls.
    const calls = [...running];
    const isOneSession = calls.every(({ session }) => session === calls[0]?.session);
    const asking =
      calls.find(({ input }) => wire.isAnswering(input)) ??
      (isOneSession ? calls.at(-1) : undefined);
    return asking === undefined ? { action: "cancel" } : await asking.onQuestion(params);
  });
  using given = firstAbort(signal, AbortSignal.timeout(timeoutMs));
  const close = async (): Promise<void> => {
    // Do not wait for a server that hangs.
    await Promise.race([client.close(), delay(CLOSE_MS, undefined, { ref: false })]);
    await wire.close();
  };
  try {
    await unlessAborted(client.connect(wire, { timeout: timeoutMs }), given.signal);
  } catch (error) {
    await close();
    // Processes of some earlier versions end when they are asked for the latest one.
    const isRefused = error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
    if (isRefused && server.command !== undefined) return await connect(options, "legacy");
    const output = wire.lastOutput;
    if (output === "") throw await readable(error, options);
    throw new Error(`${messageOf(error)} It said: ${output}`, { cause: error });
  }
  if (client.getProtocolEra() === "modern" && server.command !== undefined)
    client.listen({ toolsListChanged: true }).catch(() => {});

  /** Sends requests, and says of what fails what it is. */
  const asked = async <Answer>(request: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await request();
    } catch (error) {
      throw await readable(error, options, wire.sessionId);
    }
  };
  const call = async (given: McpCall): Promise<CallAnswer> => {
    const { tool, input, onProgress, onQuestion } = given;
    const limits = { timeout: LONGEST_TIMEOUT_MS, onprogress: onProgress };
    let answers: object = {};
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const result: object = await client.callTool(
        { name: tool, arguments: input, ...answers },
        { ...limits, allowInputRequired: true },
      );
      if (isInputRequiredResult(result)) {
        answers = await answersTo(result, onQuestion);
        continue;
      }
      const answer = callAnswer(passedSchema.parse(result).structuredContent.answer);
      if (answer.kind !== "asks") return answer;
      for (const question of answer.questions) {
        const { action } = await onQuestion(elicitSchema.parse(question));
        if (action !== "accept") return { kind: "refused", why: answer.why };
      }
    }
    return { kind: "refused", why: `It asked for input ${MOST_ROUNDS} times.` };
  };
  return {
    list: async (timeout) =>
      await asked(async () => {
        if (client.getServerCapabilities()?.tools === undefined) return [];
        return (await client.listTools(undefined, { timeout, cacheMode: "refresh" })).tools;
      }),
    resources: async (timeout) =>
      await asked(async () => {
        if (client.getServerCapabilities()?.resources === undefined)
          return { resources: [], templates: [] };
        const settings = { timeout, cacheMode: "refresh" } as const;
        const { resources } = await client.listResources(undefined, settings);
        // Many servers with resources know no templates.
        const { resourceTemplates: templates } = await client
          .listResourceTemplates(undefined, settings)
          .catch((error: unknown) => {
            if (error instanceof ProtocolError) return { resourceTemplates: [] };
            throw error;
          });
        return { resources, templates };
      }),
    read: async (uri, timeout) =>
      await asked(async () => await client.readResource({ uri }, { timeout })),
    prompts: async (timeout) =>
      await asked(async () => {
        if (client.getServerCapabilities()?.prompts === undefined) return [];
        return (await client.listPrompts(undefined, { timeout, cacheMode: "refresh" })).prompts;
      }),
    prompt: async (request, timeout) =>
      await asked(async () => await client.getPrompt(request, { timeout })),
    async call(given) {
      running.add(given);
      try {
        return await asked(async () => await call(given));
      } catch (error) {
        if (!(error instanceof ProtocolError) || error.code === NO_ANSWER) throw error;
        return { kind: "refused", why: error.message };
      } finally {
        running.delete(given);
      }
    },
    cancel: (input) => wire.cancel(input),
    abandon: (input, why) => wire.abandon(input, why),
    get lastOutput() {
      return wire.lastOutput;
    },
    close,
  };
}

const passedSchema = z.object({ structuredContent: z.object({ answer: z.unknown() }) });

const elicitSchema = z.custom<ElicitRequestParams>(isSpecType.ElicitRequestParams);
const questionSchema = z.object({ method: z.literal("elicitation/create"), params: elicitSchema });

/** What the next request of the same call carries. @throws for a question that is for no person */
async function answersTo(
  { inputRequests = {}, requestState }: InputRequiredResult,
  onQuestion: McpCall["onQuestion"],
): Promise<object> {
  const inputResponses: Record<string, ElicitResult> = {};
  for (const [key, request] of Object.entries(inputRequests))
    inputResponses[key] = await onQuestion(questionSchema.parse(request).params);
  const isAnswered = Object.keys(inputResponses).length > 0;
  return {
    ...(isAnswered && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  };
}

/** What a failure says about its request. */
async function readable(
  error: unknown,
  { login }: ConnectionOptions,
  session?: string,
): Promise<unknown> {
  if (isUnreachable(error)) return new NotRun(error, "unreachable");
  if (error instanceof UnauthorizedError) return new NotRun(error, "refused");
  if (error instanceof InsufficientScopeError) {
    try {
      await login?.widen(error.requiredScope);
    } catch (needed) {
      return needed;
    }
    return new NotRun(error, "refused");
  }
  if (!(error instanceof SdkHttpError) || ![401, 403, 404].includes(error.status)) return error;
  const isExpired = error.status === 404 && session !== undefined;
  return new NotRun(error, isExpired ? "expired" : "refused");
}

/** Whether no connection was made. */
function isUnreachable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return hasCode(error.cause, "ECONNREFUSED") || hasCode(error.cause, "ENOTFOUND");
}

function wireTo(options: ConnectionOptions): StdioTransport | HttpTransport {
  const { server, account, login, onEnd } = options;
  if (server.command !== undefined) return new StdioTransport({ server, onEnd });
  const { url, type, headers = {} } = server;
  return new HttpTransport({
    url,
    type,
    headers: async () => (typeof headers === "function" ? await headers(account) : headers),
    authProvider: login,
    onEnd,
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
