/** Asks the server for something by a key, and keeps the answer before until the next one is there. */

import { useEffect, useRef, useState } from "react";
import { messageOf } from "./client.ts";

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
    current.current(controller.signal).then(
      (answer) => {
        const [oldest] = kept.current.keys();
        if (kept.current.size >= MOST_KEPT && oldest !== undefined) kept.current.delete(oldest);
        kept.current.set(key, answer);
        if (!controller.signal.aborted) setAsked({ key, answer });
      },
      (error: unknown) => {
        if (!controller.signal.aborted) setAsked({ key, error: messageOf(error) });
      },
    );
    return () => controller.abort();
  }, [key]);
  return asked;
}
