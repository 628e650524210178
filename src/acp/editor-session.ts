/**
 * A session that an editor has open. Its events become the editor's updates, also those of turns that others began; its
 * prompts end with the turns that delivered them. When the process that runs it goes, it is followed in the next one.
 */

import { setTimeout as wait } from "node:timers/promises";
import type { ContentBlock, StopReason } from "@agentclientprotocol/sdk";
import {
  hasCode,
  TurnlogError,
  type SessionEvent,
  type StoredUserContent,
  type TurnEndReason,
} from "../events/index.ts";
import { firstAbort } from "../shared/index.ts";
import { isOwnerGone, type EditorLink } from "./editor-link.ts";
import { questionsOf, type ShownSession } from "./questions.ts";
import { eventUpdates, historyUpdates, userUpdates, type Place } from "./updates.ts";
import { fileURLToPath } from "node:url";
import type { MessagePart } from "../client/index.ts";
import { attachedName, messageParts, textFile } from "../media/index.ts";

export interface EditorSession extends ShownSession {
  /** Shows what comes from now on, and asks what waits. `replays`: shows the conversation first. */
  readonly open: (replays: boolean) => Promise<void>;
  /** Ends with the turn of the prompt. @throws TurnlogError `TURN_FAILED`, and as `send` */
  readonly prompt: (blocks: readonly ContentBlock[], message: string) => Promise<StopReason>;
  /** Cancels the turn that runs, and takes the prompts back that wait behind it. */
  readonly cancel: () => Promise<void>;
  /** Takes prompts back, by default all: their turn is cancelled, those of others keep running. */
  readonly giveUp: (messages?: readonly string[]) => Promise<void>;
  /** Nothing more is shown. The session itself keeps running. */
  readonly leave: () => Promise<void>;
}

interface Pending extends PromiseWithResolvers<StopReason> {
  /** The turn that delivered it. */
  turn?: number;
  isSent?: true;
  isCancelled?: true;
}

/** @param cwd - The folder that the editor names. The tools of a session work in the folder in which it began. */
export function editorSession(link: EditorLink, id: string, cwd: string): EditorSession {
  const { use, report } = link;
  /** The prompts of this editor, by the ids of their messages. */
  const prompts = new Map<string, Pending>();
  /** The messages of others that wait. */
  const waiting = new Map<string, StoredUserContent>();
  let following = new AbortController();
  let shown: Promise<void> = Promise.resolve();
  let opening: Promise<void> = Promise.resolve();
  let folder = cwd;
  let place: Place = { folder, step: 0, attempt: 1 };
  /** The position of the event that is shown next; 0 before the first one. */
  let position = 0;

  /** The events of a session, in whichever process it runs, until it is left. */
  async function follow(
    session: string,
    from: number,
    signal: AbortSignal,
    show: (event: SessionEvent) => Promise<void>,
  ): Promise<void> {
    for (let next = from; !signal.aborted;) {
      try {
        return await use(async ({ client }) => {
          for await (const event of client.session(session).events({ from: next, signal })) {
            next = event.position + 1;
            await show(event);
          }
        });
      } catch (error) {
        if (!signal.aborted && !isOwnerGone(error)) throw error;
      }
    }
  }

  /** The questions of a sub-agent are asked too. The rest of it is not shown. */
  async function watch(child: string): Promise<void> {
    const ended = new AbortController();
    using ends = firstAbort(following.signal, ended.signal);
    const { signal } = ends;
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        return await follow(child, 1, signal, async (event) => {
          askAfter(child, event);
          if (event.type === "turn.ended") ended.abort();
        });
      } catch (error) {
        // Its call has started, and it is created now.
        if (!hasCode(error, "SESSION_NOT_FOUND") || tries === 100) return report(error);
        await wait(50);
      }
    }
  }

  function askAfter(session: string, event: SessionEvent): void {
    questions.follow(session, event);
    const { type, data } = event;
    if (type === "tool.approval-requested") questions.ask(session).catch(report);
    if (type === "tool.started" && data.child !== undefined) void watch(data.child);
  }

  async function show(event: SessionEvent): Promise<void> {
    position = event.position + 1;
    if (event.type === "step.started") place = { ...event.data, folder };
    await link.tell(id, eventUpdates(place, event));
    askAfter(id, event);
    switch (event.type) {
      case "message.queued":
        // The editor shows its own prompts itself.
        if (!prompts.has(event.data.id)) waiting.set(event.data.id, event.data.content);
        break;
      case "message.delivered":
        for (const delivered of event.data.ids) {
          const pending = prompts.get(delivered);
          if (pending !== undefined) pending.turn = event.data.turn;
          const content = waiting.get(delivered);
          if (content !== undefined) await link.tell(id, userUpdates(delivered, content));
          waiting.delete(delivered);
        }
        break;
      case "message.withdrawn":
        for (const withdrawn of event.data.ids) {
          waiting.delete(withdrawn);
          prompts.get(withdrawn)?.resolve("cancelled");
        }
        break;
      case "turn.ended":
        await tellUsage().catch(report);
        settle(event);
        // A prompt behind a turn that failed is delivered all the same: its editor waits for it.
        if ([...prompts.values()].some(({ turn, isCancelled }) => !turn && !isCancelled))
          await use(({ client }) => client.session(id).resume()).catch(report);
        break;
      default:
    }
  }

  function settle({ data: { turn, reason, error } }: SessionEvent<"turn.ended">): void {
    for (const pending of prompts.values()) {
      if (pending.turn !== turn) continue;
      const stop = pending.isCancelled ? "cancelled" : stopReasons[reason];
      if (stop !== undefined) pending.resolve(stop);
      else {
        const why = `Turn ${turn} of session ${id} failed: ${error?.message ?? reason}`;
        pending.reject(new TurnlogError("TURN_FAILED", why, { session: id }));
      }
    }
  }

  /** How full the window is, and what the session has cost. */
  async function tellUsage(): Promise<void> {
    const { tokens: used, limits, cost } = await use(({ client }) => client.session(id).context());
    if (limits.contextWindow === undefined) return;
    const spent = { amount: cost.total.dollars ?? 0, currency: "USD" };
    const usage = { used, size: limits.contextWindow, cost: spent };
    await link.tell(id, [{ sessionUpdate: "usage_update", ...usage }]);
  }

  async function stop(): Promise<void> {
    following.abort();
    await shown;
  }

  async function openNow(replays: boolean): Promise<void> {
    await stop();
    // What the editor has left open is asked again.
    questions.end();
    const view = await use(({ client }) => client.session(id).view());
    const begunIn = view.summary.metadata?.["cwd"];
    if (typeof begunIn === "string") folder = begunIn;
    place = { ...place, folder };
    const step = view.history.findLast((item) => item.kind === "step");
    if (step !== undefined) place = { ...step, folder };
    for (const message of view.queue)
      if (!prompts.has(message.id)) waiting.set(message.id, message.content);
    if (replays) await link.tell(id, historyUpdates(folder, view.history));
    if (view.history.length > 0) await tellUsage().catch(report);
    following = new AbortController();
    if (replays || position === 0) position = view.position + 1;
    shown = follow(id, position, following.signal, show).catch((error: unknown) => {
      // The next prompt follows it again.
      following.abort();
      for (const pending of prompts.values()) pending.reject(error);
      report(error);
    });
    questions.ask(id).catch(report);
    for (const { child, status } of view.toolCalls)
      if (child !== undefined && status === "running") void watch(child);
  }

  async function takeBack(messages: readonly string[], cancels: boolean): Promise<void> {
    const given = [...prompts].filter(([message]) => messages.includes(message));
    for (const [, pending] of given) pending.isCancelled = true;
    const waiting = given.filter(([, { isSent, turn }]) => isSent && turn === undefined);
    let isTurn = cancels || given.some(([, { turn }]) => turn !== undefined);
    await use(async ({ client }) => {
      const commands = client.session(id);
      for (const [message] of waiting)
        // One that was delivered in the meantime is cancelled with its turn.
        await commands.withdraw(message).catch(() => (isTurn = true));
      if (isTurn) await commands.cancel({ reason: "cancelled in the editor" });
    });
  }

  const session: EditorSession = {
    id,
    get folder() {
      return folder;
    },
    mode: "ask",
    hasPrompted: (turn) =>
      [...prompts.values()].some((one) =>
        turn === undefined ? one.turn !== undefined : one.turn === turn,
      ),

    open: async (replays) =>
      await (opening = opening.catch(() => {}).then(async () => await openNow(replays))),

    async prompt(blocks, message) {
      const pending: Pending = Promise.withResolvers();
      pending.promise.catch(() => {});
      prompts.set(message, pending);
      try {
        const parts = await promptParts(blocks, session, link);
        if (pending.isCancelled) return "cancelled";
        if (following.signal.aborted) await session.open(false);
        await use(({ client }) => client.session(id).send(parts, { id: message }));
        pending.isSent = true;
        // It was cancelled before it was there.
        if (pending.isCancelled) await session.giveUp([message]);
        return await pending.promise;
      } finally {
        prompts.delete(message);
      }
    },

    cancel: async () => await takeBack([...prompts.keys()], true),
    giveUp: async (messages = [...prompts.keys()]) => await takeBack(messages, false),

    async leave() {
      questions.end();
      await stop();
      for (const pending of prompts.values()) pending.resolve("cancelled");
    },
  };
  const questions = questionsOf(link, session);
  return session;
}

/** Without those of a turn that has failed. */
const stopReasons: Readonly<Partial<Record<TurnEndReason, StopReason>>> = {
  stop: "end_turn",
  "stop-condition": "end_turn",
  length: "max_tokens",
  "content-filter": "refusal",
  "max-steps": "max_turn_requests",
  repeating: "max_turn_requests",
  "timed-out": "max_turn_requests",
  "out-of-budget": "max_turn_requests",
  cancelled: "cancelled",
};

// The blocks of an editor's prompt as the parts of a message. Files are read here, as the editor has them.

/** @throws TurnlogError `INVALID_INPUT` */
async function promptParts(
  blocks: readonly ContentBlock[],
  { id, folder }: ShownSession,
  { mentionedFiles, readText }: EditorLink,
): Promise<readonly MessagePart[]> {
  async function fileParts(source: string): Promise<readonly MessagePart[]> {
    const parts = await messageParts(id, { files: [source] });
    if (typeof parts === "string") return [{ type: "text", text: parts }];
    if (parts[0]?.type !== "text" || /^https?:/i.test(source)) return parts;
    const path = /^file:/i.test(source) ? fileURLToPath(source) : source;
    const unsaved = await readText(id, path);
    return unsaved === undefined ? parts : [textFile(attachedName(path), unsaved)];
  }

  async function partsOf(block: ContentBlock): Promise<readonly MessagePart[]> {
    switch (block.type) {
      case "text": {
        const files = await mentionedFiles(block.text, folder);
        const attached = await Promise.all(files.map(fileParts));
        return [...attached.flat(), { type: "text", text: block.text }];
      }
      case "image":
        return [bytes(block.mimeType, block.data)];
      case "resource": {
        const { resource } = block;
        if ("text" in resource) return [textFile(resource.uri, resource.text)];
        return [bytes(resource.mimeType ?? "application/octet-stream", resource.blob)];
      }
      case "resource_link":
        try {
          return await fileParts(block.uri);
        } catch (error) {
          // A folder, or an address that only the editor knows: the model gets its name.
          if (!hasCode(error, "INVALID_INPUT")) throw error;
          return [{ type: "text", text: `[${block.name}](${block.uri})` }];
        }
      default: {
        const why = `A prompt has text, images and resources; this one has ${block.type}. Nothing was sent.`;
        throw new TurnlogError("INVALID_INPUT", why, { session: id });
      }
    }
  }

  return (await Promise.all(blocks.map(partsOf))).flat();
}

function bytes(mediaType: string, data: string): MessagePart {
  return { type: "file", mediaType, url: `data:${mediaType};base64,${data}` };
}
