/**
 * What can be done with a session at the position that is seen, in three groups that never mix: view (reads),
 * check (compares the log with itself, and the agent with the log), run (calls models and tools, and may cost money).
 */

import { useState, type ReactNode } from "react";
import { client, read } from "../data/client.ts";
import { give } from "../data/give.ts";
import { figure } from "../data/words.ts";
import { useRefusal } from "../chat/composer.tsx";
import { goFrom } from "../shell/place.ts";
import { positionOf, type Seen } from "../shell/seen.ts";
import { CompactDialog } from "./compact-dialog.tsx";
import { CompareDialog } from "./compare-dialog.tsx";
import { ReplayDialog, replaySession, type Replayed } from "./replay-dialog.tsx";
import { RerunDialog } from "./rerun-dialog.tsx";
import { saveTranscript } from "./transcript.ts";
import { VerifyDialog, type Verification } from "./verify-dialog.tsx";

type Shown =
  | { readonly kind: "compact"; readonly movedOn?: boolean }
  | { readonly kind: "compare" | "rerun" }
  | { readonly kind: "verified"; readonly verification: Verification }
  | { readonly kind: "replayed"; readonly replayed: Replayed }
  | { readonly kind: "working" };

export function Acts({ seen }: { readonly seen: Seen }) {
  const { feed, at } = seen;
  const [isOpen, setOpen] = useState(false);
  const [shown, setShown] = useState<Shown>();
  const position = positionOf(seen);
  const session = client.session(feed.id);
  const canRun = useRefusal({ at: undefined });
  const act = (work: () => Promise<Shown | undefined>): void => {
    show({ kind: "working" });
    void give(async () => setShown(await work())).then((isGiven) => {
      if (!isGiven) setShown(undefined);
    });
  };
  const opened = (id: string): undefined => {
    goFrom(feed.id, { page: "session", session: id, view: "chat" });
    return undefined;
  };
  const show = (next: Shown): void => {
    setOpen(false);
    setShown(next);
  };
  return (
    <div className="acts" onKeyDown={({ key }) => key === "Escape" && setOpen(false)}>
      <button
        id="acts"
        type="button"
        aria-haspopup="true"
        aria-expanded={isOpen}
        // One act at a time: what comes of it would close the dialog of the next.
        disabled={shown?.kind === "working"}
        onClick={() => setOpen(!isOpen)}
      >
        Acts ▾
      </button>
      {isOpen && (
        <div className="menu" role="group" aria-label={`Acts at position ${position}`}>
          <Group title="View" about="Reads the log. Nothing runs.">
            <Act onAct={() => show({ kind: "compare" })}>
              Compare with another session or branch…
            </Act>
            <a
              className="act"
              href={`/api/sessions/${encodeURIComponent(feed.id)}/export`}
              download
              onClick={() => setOpen(false)}
            >
              Export as a fixture (.jsonl)
            </a>
            <Act
              onAct={() =>
                act(async () =>
                  saveTranscript(
                    feed.id,
                    at === undefined
                      ? feed.store.getSnapshot().context.messages
                      : feed.messagesAt(at),
                    positionOf(seen),
                  ),
                )
              }
            >
              Save as one HTML file
            </Act>
          </Group>
          <Group
            title="Check"
            about="Verifying makes every prompt again. A replay runs the agent on recorded answers: no model and no tool is called."
          >
            <Act
              onAct={() =>
                act(async () => ({
                  kind: "verified",
                  verification: await read<Verification>(feed.id, "verify"),
                }))
              }
            >
              Verify the log
            </Act>
            <Act
              refusal={canRun}
              onAct={() =>
                act(async () => ({ kind: "replayed", replayed: await replaySession(feed.id) }))
              }
            >
              Replay with the agent
            </Act>
            {canRun !== undefined && <p className="dim">{canRun}</p>}
          </Group>
          <Group
            title="Run"
            about={canRun ?? "Changes the log or calls models and tools: it may cost money."}
          >
            <Act
              refusal={canRun}
              onAct={() => act(async () => opened((await session.fork({ position })).id))}
            >
              Fork here, at {figure(position)}
            </Act>
            <Act
              refusal={canRun}
              onAct={() =>
                act(async () => {
                  await session.rewind({ to: position });
                  return opened(feed.id);
                })
              }
            >
              Rewind to {figure(position)}
            </Act>
            <Act refusal={canRun} onAct={() => show({ kind: "rerun" })}>
              Rerun {at === undefined ? "the last turn" : `from ${figure(at)}`}…
            </Act>
            <Act refusal={canRun} onAct={() => show({ kind: "compact" })}>
              Compact: preview, do, undo…
            </Act>
          </Group>
        </div>
      )}
      {shown?.kind === "working" && (
        <div className="toast" role="status">
          Working…
        </div>
      )}
      {shown?.kind === "verified" && (
        <VerifyDialog verification={shown.verification} onClose={() => setShown(undefined)} />
      )}
      {shown?.kind === "replayed" && (
        <ReplayDialog replayed={shown.replayed} onClose={() => setShown(undefined)} />
      )}
      {shown?.kind === "compact" && (
        <CompactDialog
          seen={seen}
          movedOn={shown.movedOn === true}
          onCompact={(previewed) =>
            act(async () => {
              if ((await session.preview()).position !== previewed)
                return { kind: "compact", movedOn: true };
              await session.compact();
              return undefined;
            })
          }
          onRestore={(compaction) =>
            act(async () => {
              await session.restore(compaction);
              return undefined;
            })
          }
          onClose={() => setShown(undefined)}
        />
      )}
      {shown?.kind === "rerun" && <RerunDialog seen={seen} onClose={() => setShown(undefined)} />}
      {shown?.kind === "compare" && (
        <CompareDialog
          session={feed.id}
          branches={seen.state?.branches ?? []}
          onClose={() => setShown(undefined)}
        />
      )}
    </div>
  );
}

function Group({
  title,
  about,
  children,
}: {
  readonly title: string;
  readonly about: string;
  readonly children: ReactNode;
}) {
  return (
    <section className={`act-group act-${title.toLowerCase()}`}>
      <h2>{title}</h2>
      <p className="dim">{about}</p>
      {children}
    </section>
  );
}

function Act({
  onAct,
  refusal,
  children,
}: {
  readonly onAct: () => void;
  /** Why it cannot be done; undefined if it can. */
  readonly refusal?: string | undefined;
  readonly children: ReactNode;
}) {
  return (
    <button
      type="button"
      className="act"
      disabled={refusal !== undefined}
      title={refusal}
      onClick={onAct}
    >
      {children}
    </button>
  );
}
