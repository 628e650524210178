/** Plain JSON, the only kind of data that an event carries. */

import { z } from "zod";

/** What JSON can say. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** An object of JSON. */
export type JsonObject = Readonly<Record<string, JsonValue>>;

/** Accepts what `JSON.parse` returned: a walk over it would only prove what the parser guarantees. */
export const jsonSchema: z.ZodType<JsonValue> = z.custom<JsonValue>((value) => value !== undefined);

/** Accepts an object as `JSON.parse` returned it. */
export const jsonObjectSchema: z.ZodType<JsonObject> = z.custom<JsonObject>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

/** What a provider adds to a part, by provider name. It goes back to that provider unchanged. */
export type ProviderMetadata = Readonly<Record<string, JsonObject>>;

/** Accepts {@link ProviderMetadata} as `JSON.parse` returned it. */
export const providerMetadataSchema: z.ZodType<ProviderMetadata> = z.custom<ProviderMetadata>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

/** An error as it is stored: name, message, stack, own fields and the chain of causes, all JSON. */
export interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly [field: string]: JsonValue;
}

export const storedErrorSchema: z.ZodType<StoredError> = z
  .object({ name: z.string(), message: z.string() })
  .catchall(jsonSchema);
