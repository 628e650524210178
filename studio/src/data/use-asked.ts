/**
 * Asks the server for something by a key, and keeps the answer before until the next one is there. So what is drawn of an answer
 * takes its labels from the answer too: what is asked for now may be something else.
 */

import { useEffect, useRef, useState } from "react";
import { isPassing, messageOf, RETRY_MS } from "./client.ts";

export interface Asked<Answer> {
  readonly answer?: Answer;
  /** The key that the answer is for. */
  readonly key?: string;
  readonly error?: string;
}

const MOST_KEPT = 60;

/**
 * @param key - Undefined asks nothing. Answers of a key never change, so they are kept.
 */
export function useAsked<Answer>(
  key: string | undefined,
  ask: (signal: AbortSignal) => Promise<Answer>,
): Asked<Answer> {
  const [asked, setAsked] = useState<Asked<Answer>>({});
  const kept = useRef(new Map<string, Answer>());
  const current = useRef(ask);
  current.current = ask;
  useEffect(() => {
    if (key === undefined) return undefined;
    const known = kept.current.get(key);
    if (known !== undefined) {
      setAsked({ key, answer: known });
      return undefined;
    }
    const controller = new AbortController();
    const { signal } = controller;
    let again: ReturnType<typeof setTimeout> | undefined;
    const askNow = (): void => {
      current.current(signal).then(
        (answer) => {
          const [oldest] = kept.current.keys();
          if (kept.current.size >= MOST_KEPT && oldest !== undefined) kept.current.delete(oldest);
          kept.current.set(key, answer);
          if (!signal.aborted) setAsked({ key, answer });
        },
        (error: unknown) => {
          if (signal.aborted) return;
          setAsked({ key, error: messageOf(error) });
          if (isPassing(error)) again = setTimeout(askNow, RETRY_MS);
        },
      );
    };
    askNow();
    return () => {
      controller.abort();
      clearTimeout(again);
    };
  }, [key]);
  // The answer before stays until the next one is there; an error says nothing about another key.
  return asked.error === undefined || asked.key === key ? asked : {};
}
