/** An error as it was thrown, made of what the log kept of it: recorded again, it is the same but for its stack. */

import { APICallError } from "@ai-sdk/provider";
import { storedErrorSchema, type JsonValue, type StoredError } from "../events/index.ts";

/**
 * A provider's refusal is one again.
 * @param isPatient - Whether it asks for the delay that it asked for, and not for none.
 */
export function recordedError(stored: StoredError, isPatient = false): Error {
  const { name, message, stack: _, ...own } = stored;
  const { cause } = own;
  const fields = cause === undefined ? own : { ...own, cause: recordedCause(cause) };
  if (name === "AI_APICallError") {
    const { url, isRetryable, statusCode, responseBody } = own;
    return new APICallError({
      message,
      url: typeof url === "string" ? url : "",
      requestBodyValues: {},
      responseHeaders: isPatient ? headersOf(own) : { "retry-after-ms": "0" },
      isRetryable: isRetryable === true,
      ...(typeof statusCode === "number" ? { statusCode } : {}),
      ...(typeof responseBody === "string" ? { responseBody } : {}),
      ...("cause" in fields ? { cause: fields.cause } : {}),
      ...("data" in own ? { data: own["data"] } : {}),
    });
  }
  const error = Object.assign(new Error(message), fields);
  Object.defineProperty(error, "name", { value: name, enumerable: false, configurable: true });
  return error;
}

/** A cause may be anything; one that looks like an error was one. */
function recordedCause(cause: JsonValue): unknown {
  const stored = storedErrorSchema.safeParse(cause);
  return stored.success ? recordedError(stored.data) : cause;
}

function headersOf({ responseHeaders }: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(responseHeaders ?? {}).map(([name, value]) => [name, String(value)]),
  );
}
