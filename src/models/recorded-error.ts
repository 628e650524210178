/** An error as it was thrown, made of what the log kept of it: recorded again, it is the same but for its stack. */

import { APICallError } from "@ai-sdk/provider";
import type { StoredError } from "../events/index.ts";

/**
 * A provider's refusal is one again.
 * @param isPatient - Whether it asks for the delay that it asked for, and not for none.
 */
export function recordedError(stored: StoredError, isPatient = false): Error {
  const { name, message, stack: _, ...fields } = stored;
  if (name === "AI_APICallError") {
    const { url, isRetryable, statusCode, responseBody } = fields;
    return new APICallError({
      message,
      url: typeof url === "string" ? url : "",
      requestBodyValues: {},
      responseHeaders: isPatient ? headersOf(fields) : { "retry-after-ms": "0" },
      isRetryable: isRetryable === true,
      ...(typeof statusCode === "number" ? { statusCode } : {}),
      ...(typeof responseBody === "string" ? { responseBody } : {}),
      ...("cause" in fields ? { cause: fields["cause"] } : {}),
      ...("data" in fields ? { data: fields["data"] } : {}),
    });
  }
  const error = Object.assign(new Error(message), fields);
  Object.defineProperty(error, "name", { value: name, enumerable: false, configurable: true });
  return error;
}

function headersOf({ responseHeaders }: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(responseHeaders ?? {}).map(([name, value]) => [name, String(value)]),
  );
}
