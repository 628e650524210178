/** A message of a prompt as the model gets it. A long one is cut until a person asks for all of it. */

import { useState } from "react";
import { give } from "../data/give.ts";
import type { Message } from "../data/types.ts";
import { figure } from "../data/words.ts";
import { JsonView } from "../parts/json-view.tsx";

type Part = Exclude<Message["content"], string>[number];

export function PromptMessage({
  message: given,
  index,
  whole: readWhole,
  breaks = false,
}: {
  readonly message: Message;
  readonly index: number;
  /** Reads all of one that may be cut. */
  readonly whole?: () => Promise<Message | undefined>;
  /** The provider's cache of the prompt before does not fit from here on. */
  readonly breaks?: boolean;
}) {
  const [whole, setWhole] = useState<{ readonly of: Message; readonly message: Message }>();
  const message = whole?.of === given ? whole.message : given;
  const { role, content, characters } = message;
  const showAll = async (): Promise<void> => {
    const read = await readWhole?.();
    if (read !== undefined) setWhole({ of: given, message: read });
  };
  return (
    <article className={`prompt-message role-${role}${breaks ? " breaks" : ""}`}>
      {breaks && <p className="cache-line">⚡ the provider's cache breaks here</p>}
      <header>
        <b>{role}</b>
        <span className="num dim">{index + 1}</span>
        <span className="grow" />
        <span className="num dim">
          {figure(characters ?? JSON.stringify(content).length)} characters
        </span>
      </header>
      {typeof content === "string" ? (
        <p className="text" dir="auto">
          {content}
        </p>
      ) : (
        content.map((part, at) => <PartOf key={at} part={part} />)
      )}
      {characters !== undefined && (
        <button type="button" className="link" onClick={() => void give(showAll)}>
          Only the beginning is shown. Show all {figure(characters)} characters
        </button>
      )}
    </article>
  );
}

function PartOf({ part }: { readonly part: Part }) {
  switch (part.type) {
    case "text":
      return (
        <p className="text" dir="auto">
          {part.text}
        </p>
      );
    case "reasoning":
      return (
        <p className="text thought" dir="auto">
          {part.text}
        </p>
      );
    case "tool-call":
      return (
        <div className="part-call">
          <b>→ {part.toolName}</b> <code className="dim">{part.toolCallId}</code>
          <JsonView value={part.input} openTo={1} />
        </div>
      );
    case "tool-result":
      return (
        <div className="part-call">
          <b>← {part.toolName}</b> <code className="dim">{part.toolCallId}</code>
          <JsonView value={"value" in part.output ? part.output.value : part.output} openTo={1} />
        </div>
      );
    default:
      return <JsonView value={part} openTo={1} />;
  }
}
