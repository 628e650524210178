/** Writes the tables of commands anew, of the client and of the terminal. Run by `npm run tables`. */
import { writeFileSync } from "node:fs";
import { commandTablePath, commandTableSource } from "../cli/command-table-source.ts";
import { tablePath, tableSource } from "./table-source.ts";

writeFileSync(new URL(`../../${tablePath}`, import.meta.url), tableSource());
writeFileSync(new URL(`../../${commandTablePath}`, import.meta.url), commandTableSource());
