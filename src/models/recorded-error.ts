/** Restores an error from the log; recorded again, it differs only in its stack. */

import { APICallError } from "@ai-sdk/provider";
import { storedErrorSchema, type JsonValue, type StoredError } from "../events/index.ts";

/** A provider's error becomes an `APICallError` again; `keepsDelay`: with the retry delay that it asked for. */
export function recordedError(stored: StoredError, keepsDelay = false): Error {
  const { name, message, stack: _, ...own } = stored;
  const { cause } = own;
  const fields = cause === undefined ? own : { ...own, cause: recordedCause(cause) };
  if (name === "AI_APICallError") {
    const { url, isRetryable, statusCode, responseBody } = own;
    return new APICallError({
      message,
      url: typeof url === "string" ? url : "",
      requestBodyValues: {},
      responseHeaders: keepsDelay ? tooLong(headersOf(own)) : { "retry-after-ms": "0" },
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

/** A cause may be any value; one in the form of an error becomes an error again. */
function recordedCause(cause: JsonValue): unknown {
  const stored = storedErrorSchema.safeParse(cause);
  return stored.success ? recordedError(stored.data) : cause;
}

/** Too long for every agent, as it was for the recorded one, whose patience the log does not tell. */
function tooLong(headers: Record<string, string>): Record<string, string> {
  const asks = Object.keys(headers).some((name) => name.startsWith("retry-after"));
  return asks ? { ...headers, "retry-after-ms": String(Number.MAX_SAFE_INTEGER) } : headers;
}

function headersOf({ responseHeaders }: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(responseHeaders ?? {}).map(([name, value]) => [name, String(value)]),
  );
}
