/** A call in the conversation: its input, its outcome, and the question whether it may run. */

import { useState } from "react";
import type { SessionMessage } from "../../../src/public/ui.ts";
import { client } from "../data/client.ts";
import { give } from "../data/give.ts";
import { oneLine } from "../data/words.ts";
import { JsonView } from "../parts/json-view.tsx";

type Part = SessionMessage["parts"][number];
export type CallPart = Extract<Part, { readonly toolCallId: string }>;

const words: Readonly<Record<CallPart["state"], { readonly sign: string; readonly word: string }>> =
  {
    "input-streaming": { sign: "…", word: "writing its input" },
    "input-available": { sign: "◉", word: "running" },
    "approval-requested": { sign: "!", word: "needs approval" },
    "approval-responded": { sign: "◉", word: "answered" },
    "output-available": { sign: "✓", word: "succeeded" },
    "output-error": { sign: "✕", word: "failed" },
    "output-denied": { sign: "⊘", word: "denied" },
  };

export function ToolCall({
  part,
  canAnswer,
}: {
  readonly part: CallPart;
  /** Why a person cannot answer here; undefined if they can. */
  readonly canAnswer: string | undefined;
}) {
  const asks = part.state === "approval-requested";
  const [isOpen, setOpen] = useState(asks);
  const { sign, word } = words[part.state];
  const name = part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
  return (
    <div className={`call call-${part.state}`}>
      <button
        type="button"
        className="call-head"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <span className="call-sign" aria-hidden="true">
          {sign}
        </span>
        <b className="call-name">{name}</b>
        <span className="call-input" dir="auto">
          {oneLine(inputText(part.input), 160)}
        </span>
        <span className="call-state">{word}</span>
      </button>
      {isOpen && (
        <div className="call-body">
          <h3>Input</h3>
          <JsonView value={part.input ?? null} />
          {part.state === "output-available" && (
            <>
              <h3>Output</h3>
              <JsonView value={part.output ?? null} openTo={1} />
            </>
          )}
          {part.state === "output-error" && (
            <>
              <h3>Error</h3>
              <p className="error" dir="auto">
                {part.errorText}
              </p>
            </>
          )}
        </div>
      )}
      {asks && <Question id={part.approval.id} canAnswer={canAnswer} tool={name} />}
    </div>
  );
}

function inputText(input: unknown): string {
  if (typeof input === "string") return input;
  if (typeof input !== "object" || input === null) return "";
  const values = Object.values(input);
  return values.every((value) => typeof value !== "object")
    ? values.join("  ")
    : JSON.stringify(input);
}

function Question({
  id,
  tool,
  canAnswer,
}: {
  readonly id: string;
  readonly tool: string;
  readonly canAnswer: string | undefined;
}) {
  const [sent, setSent] = useState<"approved" | "denied">();
  const answer = async (isApproved: boolean): Promise<void> => {
    setSent(isApproved ? "approved" : "denied");
    const isGiven = await give(() =>
      isApproved ? client.approve(id) : client.deny(id, { reason: "Denied in the studio." }),
    );
    if (!isGiven) setSent(undefined);
  };
  const isOff = canAnswer !== undefined || sent !== undefined;
  return (
    <div className="question" role="group" aria-label={`May ${tool} run?`}>
      <span>May it run?</span>
      <button type="button" className="primary" disabled={isOff} onClick={() => void answer(true)}>
        Approve
      </button>
      <button type="button" disabled={isOff} onClick={() => void answer(false)}>
        Deny
      </button>
      {canAnswer !== undefined && <span className="dim">{canAnswer}</span>}
    </div>
  );
}
