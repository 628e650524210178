/** A call in the conversation: its input, its outcome, and the question whether it may run. */

import { useState, type SubmitEvent } from "react";
import type { SessionClient } from "../../../src/public/client.ts";
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
      {asks && (
        <Question
          id={part.approval.id}
          asked={isAsked(part.approval.descriptor) ? part.approval.descriptor : undefined}
          canAnswer={canAnswer}
          tool={name}
        />
      )}
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

/** What a running call asks. It was checked when it was recorded. */
type Approvals = Awaited<ReturnType<SessionClient["approvals"]>>["approvals"];
type Asked = NonNullable<Approvals[number]["question"]>;

function isAsked(descriptor: unknown): descriptor is Asked {
  return typeof descriptor === "object" && descriptor !== null && "kind" in descriptor;
}

function Question({
  id,
  asked,
  tool,
  canAnswer,
}: {
  readonly id: string;
  readonly asked: Asked | undefined;
  readonly tool: string;
  readonly canAnswer: string | undefined;
}) {
  const [sent, setSent] = useState<"approved" | "denied">();
  const answer = async (isApproved: boolean, content?: Content): Promise<void> => {
    setSent(isApproved ? "approved" : "denied");
    const isGiven = await give(() =>
      isApproved
        ? client.approve(id, content === undefined ? {} : { content })
        : client.deny(id, { reason: "Denied in the studio." }),
    );
    if (!isGiven) setSent(undefined);
  };
  const isOff = canAnswer !== undefined || sent !== undefined;
  const label = asked === undefined ? `May ${tool} run?` : `${asked.from} asks`;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const values = new FormData(event.currentTarget);
    void answer(true, asked?.kind === "form" ? contentOf(asked, values) : undefined);
  };
  return (
    <form className="question" aria-label={label} onSubmit={submit}>
      {asked === undefined ? <span>May it run?</span> : <AskedWords asked={asked} isOff={isOff} />}
      <button type="submit" className="primary" disabled={isOff}>
        {asked === undefined ? "Approve" : asked.kind === "form" ? "Send" : "Done"}
      </button>
      <button type="button" disabled={isOff} onClick={() => void answer(false)}>
        Deny
      </button>
      {canAnswer !== undefined && <span className="dim">{canAnswer}</span>}
    </form>
  );
}

function AskedWords({ asked, isOff }: { readonly asked: Asked; readonly isOff: boolean }) {
  if (asked.kind !== "form")
    return (
      <span dir="auto">
        {asked.kind === "address"
          ? `${asked.from}: ${asked.message} `
          : `${asked.from} needs a login: `}
        <a href={asked.url} target="_blank" rel="noreferrer noopener">
          {asked.url}
        </a>
      </span>
    );
  return (
    <>
      <span dir="auto">{`${asked.from}: ${asked.message}`}</span>
      {fieldsOf(asked).map(({ name, title, type, choices, isRequired }) => (
        <label key={name} dir="auto">
          {`${title} `}
          {choices === undefined ? (
            <input
              name={name}
              type={inputTypes[type] ?? "text"}
              step={type === "integer" ? 1 : "any"}
              required={isRequired && type !== "boolean"}
              disabled={isOff}
            />
          ) : (
            <select name={name} required={isRequired} disabled={isOff}>
              {choices.map((choice) => (
                <option key={choice}>{choice}</option>
              ))}
            </select>
          )}
        </label>
      ))}
    </>
  );
}

type Form = Extract<Asked, { readonly kind: "form" }>;
type Content = Readonly<Record<string, string | number | boolean>>;

interface Field {
  readonly name: string;
  readonly title: string;
  readonly type: string;
  readonly choices: readonly string[] | undefined;
  readonly isRequired: boolean;
}

/** The plain fields of a form. What its schema does not say in the usual way is a text. */
function fieldsOf({ schema }: Form): readonly Field[] {
  const { properties, required } = schema;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  if (typeof properties !== "object" || properties === null) return [];
  return Object.entries(properties).map(([name, field]) => {
    const about: object = typeof field === "object" && field !== null ? field : {};
    const type = textOf(about, "type") ?? "string";
    const choices: unknown = Reflect.get(about, "enum");
    return {
      name,
      title: textOf(about, "title") ?? name,
      type,
      choices: Array.isArray(choices) ? choices.map(String) : undefined,
      isRequired: needed.includes(name),
    };
  });
}

function textOf(about: object, name: string): string | undefined {
  const value: unknown = Reflect.get(about, name);
  return typeof value === "string" ? value : undefined;
}

const inputTypes: Readonly<Record<string, string>> = {
  integer: "number",
  number: "number",
  boolean: "checkbox",
};

/** A field that is left empty is left out. */
function contentOf(form: Form, values: FormData): Content {
  const given = fieldsOf(form).flatMap(
    ({ name, type }): readonly (readonly [string, Content[string]])[] => {
      const value = values.get(name);
      if (type === "boolean") return [[name, value !== null]];
      if (typeof value !== "string" || value === "") return [];
      return [[name, inputTypes[type] === "number" ? Number(value) : value]];
    },
  );
  return Object.fromEntries(given);
}
