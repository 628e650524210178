/** Writes `src/client/command-table.ts` anew. Run by `npm run client:table`. */
import { writeFileSync } from "node:fs";
import { tablePath, tableSource } from "./table-source.ts";

writeFileSync(new URL(`../../${tablePath}`, import.meta.url), tableSource());
