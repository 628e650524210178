/** The form of each family of the catalogue: a type map and its schemas. */

import type { z } from "zod";

/** One zod schema for the data of each event type of a family. */
export type FamilySchemas<Family> = { readonly [Type in keyof Family]: z.ZodType<Family[Type]> };
