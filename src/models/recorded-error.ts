/** An error as it was thrown, made of what the log kept of it: recorded again, it is the same but for its stack. */

import { APICallError } from "@ai-sdk/provider";
import type { StoredError } from "../events/index.ts";

/** A provider's refusal is one again, and asks for no delay: nobody waits in a replay. */
export function recordedError(stored: StoredError): Error {
  const { name, message, stack: _, ...fields } = stored;
  if (name === "AI_APICallError") {
    const { url, isRetryable, statusCode, responseBody } = fields;
    return new APICallError({
      message,
      url: typeof url === "string" ? url : "",
      requestBodyValues: {},
      responseHeaders: { "retry-after-ms": "0" },
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
