/** One message of the conversation: its parts in order, its branches, and what can be done with it. */

import { memo, useState } from "react";
import type { SessionMessage } from "../../../src/public/ui.ts";
import { duration, exactTime, figure, reducedTo, timeOfDay, tokens } from "../data/words.ts";
import { moveIn } from "../shell/place.ts";
import { Prose } from "../parts/prose.tsx";
import { ToolCall } from "./tool-call.tsx";
import { Writer } from "./writer.tsx";

type Part = SessionMessage["parts"][number];

export interface MessageActs {
  /** Why nothing can run; undefined if it can. */
  readonly refusal: string | undefined;
  readonly onEdit: (messageId: string, text: string) => Promise<void>;
  readonly onBranch: (messageId: string) => void;
}

interface Shown {
  readonly message: SessionMessage;
  readonly siblings: readonly string[];
  readonly acts: MessageActs;
  /** Why its turn failed. */
  readonly failure: string | undefined;
}

export const Message = memo(function Message({ message, siblings, acts, failure }: Shown) {
  const [isEditing, setEditing] = useState(false);
  const { role, parts, metadata, id } = message;
  const isUser = role === "user";
  return (
    <article className={`message message-${role}`} aria-label={isUser ? "You" : "Reply"}>
      <header className="message-head">
        <h2>{isUser ? "You" : "Reply"}</h2>
        {metadata !== undefined && (
          <button
            type="button"
            className="link num"
            title={`${exactTime(metadata.startedAt)}. Go to position ${metadata.endPosition ?? metadata.position}`}
            onClick={() => moveIn({ position: metadata.endPosition ?? metadata.position })}
          >
            {timeOfDay(metadata.startedAt)} · {metadata.position}
            {metadata.endPosition === undefined ? "" : `–${metadata.endPosition}`}
          </button>
        )}
        {siblings.length > 1 && <Branches id={id} siblings={siblings} onBranch={acts.onBranch} />}
        <span className="grow" />
        {isUser && acts.refusal === undefined && !isEditing && (
          <button type="button" className="link on-hover" onClick={() => setEditing(true)}>
            Edit and run
          </button>
        )}
      </header>
      {isEditing ? (
        <Writer
          label="Edit the message"
          initial={textOf(message)}
          verb="Run"
          onCancel={() => setEditing(false)}
          onSend={async (text) => {
            await acts.onEdit(id, text);
            setEditing(false);
          }}
        />
      ) : (
        parts.map((part, index) =>
          isUser && part.type === "text" ? (
            <Written key={index} text={part.text} />
          ) : (
            <PartView key={index} part={part} refusal={acts.refusal} />
          ),
        )
      )}
      {!isUser && metadata !== undefined && <Foot metadata={metadata} failure={failure} />}
    </article>
  );
}, isSame);

/** The thread makes its lists of siblings anew; messages that did not change are the same objects. */
function isSame(one: Shown, other: Shown): boolean {
  return (
    one.message === other.message &&
    one.acts === other.acts &&
    one.failure === other.failure &&
    one.siblings.length === other.siblings.length &&
    one.siblings.every((id, index) => id === other.siblings[index])
  );
}

/** What a person typed, letter by letter. */
function Written({ text }: { readonly text: string }) {
  return (
    <div className="prose" dir="auto">
      <p>{text}</p>
    </div>
  );
}

function textOf({ parts }: SessionMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

function Branches({
  id,
  siblings,
  onBranch,
}: {
  readonly id: string;
  readonly siblings: readonly string[];
  readonly onBranch: (messageId: string) => void;
}) {
  const index = siblings.indexOf(id);
  const [before, after] = [siblings[index - 1], siblings[index + 1]];
  return (
    <span className="branches" role="group" aria-label="Branches">
      <button
        type="button"
        className="icon"
        aria-label="The branch before"
        disabled={before === undefined}
        onClick={() => before !== undefined && onBranch(before)}
      >
        ‹
      </button>
      <span className="num">
        {index + 1} of {siblings.length}
      </span>
      <button
        type="button"
        className="icon"
        aria-label="The next branch"
        disabled={after === undefined}
        onClick={() => after !== undefined && onBranch(after)}
      >
        ›
      </button>
    </span>
  );
}

function Foot({
  metadata,
  failure,
}: {
  readonly metadata: NonNullable<SessionMessage["metadata"]>;
  readonly failure: string | undefined;
}) {
  const { model, usage, startedAt, endedAt, reason, empty } = metadata;
  const odd = empty === true ? "said nothing" : reason === "stop" ? undefined : reason;
  return (
    <footer className="message-foot num">
      {odd !== undefined && <span className="pill status-troubled">△ {odd}</span>}
      {failure !== undefined && (
        <span className="error" dir="auto">
          {failure}
        </span>
      )}
      {model !== undefined && <span>{model}</span>}
      {usage !== undefined && (
        <span>
          {tokens(usage.inputTokens)} in, {tokens(usage.outputTokens)} out
        </span>
      )}
      {endedAt !== undefined && <span>{duration(endedAt - startedAt)}</span>}
    </footer>
  );
}

function PartView({
  part,
  refusal,
}: {
  readonly part: Part;
  readonly refusal: string | undefined;
}) {
  if ("toolCallId" in part) return <ToolCall part={part} canAnswer={refusal} />;
  switch (part.type) {
    case "text":
      return <Prose text={part.text} />;
    case "reasoning":
      return part.text === "" ? null : (
        <details className="reasoning" open={part.state === "streaming"}>
          <summary>Reasoning</summary>
          <Prose text={part.text} />
        </details>
      );
    case "file":
      return <File part={part} />;
    case "source-url":
      return (
        <p className="source">
          Source: {part.title ?? part.url} <span className="dim">{part.url}</span>
        </p>
      );
    case "data-compaction": {
      const { strategy, beforeTokens, afterTokens } = part.data;
      const saved = beforeTokens === 0 ? 0 : Math.round((1 - afterTokens / beforeTokens) * 100);
      return (
        <p className="notice">
          <b>⇲ Compacted</b> by {strategy}: {figure(beforeTokens)} → {figure(afterTokens)} tokens,{" "}
          {saved} % less
        </p>
      );
    }
    case "data-reduction":
      return (
        <p className="notice">
          <b>⇲ Reduced</b>: the provider refused the conversation; it was sent again{" "}
          {reducedTo[part.data.rung]}
        </p>
      );
    case "step-start":
    case "data-context":
    case "data-notice":
      return null;
    default:
      return <Other part={part} />;
  }
}

/** Steered messages, documents, and what later releases add. */
function Other({ part }: { readonly part: object & { readonly type: string } }) {
  if (part.type === "steering-message" && "parts" in part && Array.isArray(part.parts)) {
    const text = part.parts.map((one: { readonly text?: string }) => one.text ?? "").join(" ");
    return (
      <div className="steered">
        <b>You, meanwhile</b>
        <Written text={text} />
      </div>
    );
  }
  if (part.type === "reset-step") return <p className="notice">↻ The step was tried again.</p>;
  return <p className="dim">{part.type}</p>;
}

/** Only pictures of the store or of the message itself: a page of the studio requests nothing elsewhere. */
export function File({ part }: { readonly part: Extract<Part, { readonly type: "file" }> }) {
  const { url, mediaType, filename = mediaType } = part;
  const isStored = url.startsWith("/api/sessions/");
  const isOurs = isStored || /^data:image\/(?:png|jpeg|gif|webp|avif);/u.test(url);
  if (isOurs && /^image\/(?:png|jpeg|gif|webp|avif)$/u.test(mediaType))
    return <img className="picture" src={url} alt={filename} loading="lazy" />;
  return (
    <p className="file">
      <span aria-hidden="true">▤</span> <b dir="auto">{filename}</b>{" "}
      <span className="dim">{mediaType}</span>{" "}
      {isStored && (
        <a href={url} download>
          Download
        </a>
      )}
      {/^https?:/u.test(url) && (
        <span className="dim" dir="auto">
          {url}
        </span>
      )}
    </p>
  );
}
