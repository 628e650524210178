/** A message of a prompt as the model gets it. */

import type { Message } from "../data/types.ts";
import { figure } from "../data/words.ts";
import { JsonView } from "../parts/json-view.tsx";

type Part = Exclude<Message["content"], string>[number];

export function PromptMessage({
  message,
  index,
  breaks = false,
}: {
  readonly message: Message;
  readonly index: number;
  /** The provider's cache of the prompt before does not fit from here on. */
  readonly breaks?: boolean;
}) {
  const { role, content } = message;
  return (
    <article className={`prompt-message role-${role}${breaks ? " breaks" : ""}`}>
      {breaks && <p className="cache-line">⚡ the provider's cache breaks here</p>}
      <header>
        <b>{role}</b>
        <span className="num dim">{index + 1}</span>
        <span className="grow" />
        <span className="num dim">{figure(JSON.stringify(content).length)} characters</span>
      </header>
      {typeof content === "string" ? (
        <p className="text" dir="auto">
          {content}
        </p>
      ) : (
        content.map((part, at) => <PartOf key={at} part={part} />)
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
