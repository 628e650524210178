/** A field to write a message in: Enter sends, Shift and Enter begin a line. */

import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { give } from "../data/give.ts";

export function Writer({
  label,
  verb,
  onSend,
  onCancel,
  id,
  initial = "",
  placeholder,
  refusal,
  children,
}: {
  readonly label: string;
  readonly verb: string;
  readonly onSend: (text: string) => Promise<void>;
  readonly onCancel?: () => void;
  readonly id?: string;
  readonly initial?: string;
  readonly placeholder?: string;
  /** Why nothing can be sent; undefined if it can. */
  readonly refusal?: string | undefined;
  /** More controls beside the button. */
  readonly children?: ReactNode;
}) {
  const [text, setText] = useState(initial);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (initial !== "") field.current?.focus();
  }, [initial]);
  const send = async (): Promise<void> => {
    const message = text.trim();
    if (message === "" || refusal !== undefined) return;
    setText("");
    // Before what was typed since.
    if (!(await give(() => onSend(message))))
      setText((typed) => (typed === "" ? text : `${text}\n${typed}`));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") onCancel?.();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };
  return (
    <form
      className="writer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        ref={field}
        {...(id === undefined ? {} : { id })}
        aria-label={label}
        dir="auto"
        rows={Math.min(8, text.split("\n").length + 1)}
        placeholder={refusal ?? placeholder}
        disabled={refusal !== undefined}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="writer-foot">
        {children}
        <span className="grow" />
        {onCancel !== undefined && (
          <button type="button" onClick={onCancel}>
            Leave
          </button>
        )}
        <button
          type="submit"
          className="primary"
          disabled={refusal !== undefined || text.trim() === ""}
        >
          {verb}
        </button>
      </div>
    </form>
  );
}
