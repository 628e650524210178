/** What the sessions of an editor share: its connection, what it can do, and the store behind it. */

import type { AgentContext, ClientCapabilities, SessionUpdate } from "@agentclientprotocol/sdk";
import type { Client } from "../client/index.ts";
import { hasCode } from "../events/index.ts";

/** The sessions behind an editor: of this process, of the one that has the store open, or of a server. */
export interface AcpStore {
  readonly client: Client;
  /** The models among which an editor may choose. Absent where the agent of another process answers. */
  readonly models?: {
    readonly names: readonly string[];
    readonly current: (session: string) => string;
    readonly change: (session: string, name: string) => Promise<void>;
  };
}

/** The text of a file with changes that are not saved. Undefined if the editor does not show the session, or does not say. */
export type ReadText = (session: string, path: string) => Promise<string | undefined>;

export interface AcpOptions {
  /** What the editor writes, and what it reads. */
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  /** Opens the store; called again when the process that had it open has closed it. */
  readonly open: (readText: ReadText) => Promise<AcpStore>;
  /** The files that a text mentions by `@`. */
  readonly mentionedFiles: (text: string, folder: string) => Promise<readonly string[]>;
  /** Is told what the editor cannot be told. */
  readonly report: (error: unknown) => void;
}

export interface EditorLink extends Pick<AcpOptions, "mentionedFiles" | "report"> {
  readonly agent: AgentContext;
  /** Of the editor. */
  capabilities: ClientCapabilities;
  /** Works on the store, and again if the process that had it open has gone. */
  readonly use: <Result>(work: (store: AcpStore) => Promise<Result>) => Promise<Result>;
  readonly tell: (sessionId: string, updates: readonly SessionUpdate[]) => Promise<void>;
  readonly readText: ReadText;
}

export function isOwnerGone(error: unknown): boolean {
  return hasCode(error, "LOG_CLOSED", "RUNTIME_CLOSED");
}

/** @param shows - Whether the editor has a session open. */
export function editorLink(
  { open, mentionedFiles, report }: AcpOptions,
  agent: AgentContext,
  shows: (session: string) => boolean,
): EditorLink {
  let opened: Promise<AcpStore> | undefined;
  const link: EditorLink = {
    mentionedFiles,
    report,
    agent,
    capabilities: {},
    async use(work) {
      for (let tries = 1; ; tries++) {
        const opening = (opened ??= open(link.readText));
        let store: AcpStore | undefined;
        try {
          store = await opening;
          return await work(store);
        } catch (error) {
          const isGone = isOwnerGone(error);
          if (opened === opening && (isGone || store === undefined)) opened = undefined;
          if (!isGone || tries > 1) throw error;
        }
      }
    },
    async tell(sessionId, updates) {
      for (const update of updates) await agent.notify("session/update", { sessionId, update });
    },
    async readText(sessionId, path) {
      if (link.capabilities.fs?.readTextFile !== true || !shows(sessionId)) return undefined;
      const read = agent.request("fs/read_text_file", { sessionId, path });
      // What it cannot read is read from the disk.
      return await read.then(({ content }) => content).catch(() => undefined);
    },
  };
  return link;
}
