/** Metadata that fit the schema of the runtime's options, before they are recorded. */

import { safeValidateTypes, type FlexibleSchema } from "@ai-sdk/provider-utils";
import { ownCopy, TurnlogError, type JsonObject } from "../events/index.ts";
import { withFullStop } from "../shared/index.ts";

/** @throws TurnlogError `INVALID_INPUT` */
export async function assertMetadata(
  schema: FlexibleSchema<unknown> | undefined,
  session: string,
  metadata: JsonObject,
): Promise<void> {
  if (schema === undefined) return;
  // A schema may change what it gets; the metadata are recorded as they are.
  const checked = await safeValidateTypes({ value: ownCopy(metadata), schema });
  if (checked.success) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `The metadata of session ${session} do not fit \`metadataSchema\`: ${withFullStop(checked.error.message)}`,
    { session, cause: checked.error, details: { option: "metadata" } },
  );
}
