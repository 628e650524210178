/** The form of each family of the catalogue: a type map and its schemas. */

import type { z } from "zod";

export type FamilySchemas<Family> = { readonly [Type in keyof Family]: z.ZodType<Family[Type]> };
