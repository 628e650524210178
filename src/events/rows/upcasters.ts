/** Upcasts data of older schema versions when it is read. Stored events are never rewritten. */

import { z } from "zod";
import { jsonObjectSchema, type JsonValue } from "../values/json.ts";

/** `upcasters[type][version]` takes data of that version and returns data of `version + 1`. */
export type Upcasters = Readonly<
  Record<string, Readonly<Record<number, (data: JsonValue) => JsonValue>>>
>;

const queuedV1 = z.looseObject({ text: z.string() });

export const upcasters: Upcasters = {
  // Earlier releases know no boundary at the end of a turn behind which messages wait, and would ignore it.
  "session.rewound": { 1: (data) => data },
  // Version 1 held bare text, before a message could have parts.
  "message.queued": {
    1: (data) => {
      const { text, ...rest } = queuedV1.parse(data);
      return jsonObjectSchema.parse({ ...rest, content: text });
    },
  },
};
