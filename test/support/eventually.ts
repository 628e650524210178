/** Waits for what happens by itself as long as a test may take: by itself vitest gives up after a second. */

import { vi } from "vitest";
import { patience } from "./runs.ts";

export async function eventually<Value>(
  assertion: () => Value | Promise<Value>,
  interval = 5,
): Promise<Value> {
  return await vi.waitFor(assertion, { timeout: patience, interval });
}
