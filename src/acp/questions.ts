/**
 * Asks the editor what a session asks: whether a call may run, or the values of a form. A question that is answered
 * elsewhere is taken back there; one that the editor leaves open stays open in the log.
 */

import { readFile, stat } from "node:fs/promises";
import type { PermissionOption, ToolCall, ToolCallContent } from "@agentclientprotocol/sdk";
import { z } from "zod";
import { hasCode, jsonObjectSchema, type JsonObject, type SessionEvent } from "../events/index.ts";
import type { SessionView } from "../state/index.ts";
import type { EditorLink } from "./editor-link.ts";
import { describedCall } from "./updates.ts";

type Approval = SessionView["approvals"][number];

/** What happens to calls that ask: they are refused, a person is asked, or they run. */
export const modes = { "read-only": "Read only", ask: "Ask", allow: "Allow" } as const;

export interface ShownSession {
  readonly id: string;
  readonly folder: string;
  /** For the turns of this editor's own prompts: those of others are not its to answer unasked. */
  mode: keyof typeof modes;
  /** Whether a prompt of this editor began that turn; without a turn: one that runs. */
  readonly hasPrompted: (turn: number | undefined) => boolean;
}

export interface Questions {
  /** Asks what waits in a session and is not asked yet. */
  readonly ask: (session: string) => Promise<void>;
  /** Takes a question back that an event has ended. */
  readonly follow: (session: string, event: SessionEvent) => void;
  /** Takes the questions about a call back, or all. They stay open in the log. */
  readonly end: (call?: string) => void;
}

const reject: PermissionOption = { optionId: "reject", kind: "reject_once", name: "Reject" };
const options: readonly PermissionOption[] = [
  { optionId: "allow", kind: "allow_once", name: "Allow" },
  { optionId: "allow-always", kind: "allow_always", name: "Always allow this tool here" },
  reject,
  { optionId: "reject-always", kind: "reject_always", name: "Never allow this tool here" },
];

type Answer = readonly [
  "approve" | "deny",
  { readonly always?: true; readonly reason?: string; readonly content?: JsonObject },
];

const elicited = z.looseObject({ action: z.string(), content: jsonObjectSchema.nullish() });

/** @param shown - What the editor shows. Sub-agents ask in its name. */
export function questionsOf(link: EditorLink, shown: ShownSession): Questions {
  const { use, report } = link;
  /** By the id of an approval: its call, and what takes the question back. */
  const asked = new Map<string, { readonly call: string; readonly end: AbortController }>();

  async function settle(session: string, approval: Approval, end: AbortSignal): Promise<void> {
    const answer = await answerTo(session, approval, end);
    if (answer === undefined || end.aborted) return;
    await use(({ client }) => client[answer[0]](approval.approvalId, answer[1]));
  }

  async function answerTo(
    session: string,
    approval: Approval,
    end: AbortSignal,
  ): Promise<Answer | undefined> {
    const { question, again, step, turn } = approval;
    const { id, folder, mode } = shown;
    const call = describedCall({ folder, step }, approval);
    // The editor knows calls of its own session only.
    if (session !== id) call.toolCallId = `${session}/${call.toolCallId}`;
    if (question !== undefined) return await elicit(question, call, end);
    // Whether a call runs a second time is always for a person.
    const reason = `the editor's mode is ${mode}`;
    const isOwn = shown.hasPrompted(session === id ? turn : undefined);
    if (isOwn && mode === "read-only") return ["deny", { reason }];
    if (isOwn && mode === "allow" && again === undefined) return ["approve", { reason }];
    const why = again === undefined ? approval.reason : "It was started before: run it again?";
    return await permission(call, why, options, end);
  }

  async function permission(
    call: ToolCall,
    why: string | undefined,
    offered: readonly PermissionOption[],
    end: AbortSignal,
  ): Promise<Answer | undefined> {
    const content = await withOldText(call.content ?? []);
    if (why !== undefined) content.push({ type: "content", content: { type: "text", text: why } });
    const { outcome } = await link.agent.request(
      "session/request_permission",
      { sessionId: shown.id, toolCall: { ...call, content }, options: [...offered] },
      { cancellationSignal: end, stopWaitingOnCancel: true },
    );
    if (outcome.outcome !== "selected") return undefined;
    const [word, always] = outcome.optionId.split("-");
    // A client may answer by itself: who looks at the log sees where it came from.
    return [
      word === "allow" ? "approve" : "deny",
      { reason: "answered in the editor", ...(always !== undefined && { always: true }) },
    ];
  }

  async function elicit(
    question: NonNullable<Approval["question"]>,
    call: ToolCall,
    end: AbortSignal,
  ): Promise<Answer | undefined> {
    const { form, url } = link.capabilities.elicitation ?? {};
    const { toolCallId } = call;
    const words = question.kind === "login-required" ? "log in." : question.message;
    const about = { sessionId: shown.id, toolCallId, message: `${question.from}: ${words}` };
    if (!(question.kind === "form" ? form : url)) {
      const why = `${about.message} This editor cannot ask that: answer in a terminal or the studio, or reject the call.`;
      return await permission(call, why, [reject], end);
    }
    const given = await link.agent.request<unknown, object>(
      "elicitation/create",
      question.kind === "form"
        ? { mode: "form", ...about, requestedSchema: question.schema }
        : { mode: "url", ...about, elicitationId: toolCallId, url: question.url },
      { cancellationSignal: end, stopWaitingOnCancel: true },
    );
    const { action, content } = elicited.parse(given);
    if (action !== "accept") return ["deny", { reason: "nobody answered the question" }];
    return ["approve", question.kind === "form" && content ? { content } : {}];
  }

  function end(about?: string): void {
    for (const [id, { call, end: stop }] of asked) {
      if (about !== undefined && call !== about) continue;
      asked.delete(id);
      stop.abort();
    }
  }

  async function ask(session: string): Promise<void> {
    const { approvals } = await use(({ client }) => client.session(session).approvals());
    for (const approval of approvals) {
      const { approvalId, status } = approval;
      if (status !== "waiting" || asked.has(approvalId)) continue;
      const stop = new AbortController();
      asked.set(approvalId, { call: callOf(session, approval), end: stop });
      settle(session, approval, stop.signal).catch(async (error: unknown) => {
        // An answer that comes too late changes nothing.
        if (stop.signal.aborted) return;
        report(error);
        // Values that do not fit their form.
        if (approval.question === undefined || !hasCode(error, "INVALID_INPUT")) return;
        asked.delete(approvalId);
        await ask(session).catch(report);
      });
    }
  }

  return {
    end,
    ask,
    follow(session, { type, data }) {
      if (type === "tool.approval-answered" || type === "tool.skipped" || type === "tool.denied")
        end(callOf(session, data));
    },
  };
}

/** Bytes of a file against which a change is shown. */
const MOST_SHOWN = 1e6;

/** A change of a file that has not run yet: the editor shows it against what is there. */
async function withOldText(content: readonly ToolCallContent[]): Promise<ToolCallContent[]> {
  return await Promise.all(
    content.map(async (part) => {
      if (part.type !== "diff" || part.oldText !== undefined) return part;
      // A pipe or a device may never end.
      const isShown = await stat(part.path).then(
        (file) => file.isFile() && file.size <= MOST_SHOWN,
        () => false,
      );
      if (!isShown) return { ...part, oldText: null };
      return { ...part, oldText: await readFile(part.path, "utf8").catch(() => null) };
    }),
  );
}

function callOf(session: string, { step, callId }: Pick<Approval, "step" | "callId">): string {
  return `${session} ${step} ${callId}`;
}
