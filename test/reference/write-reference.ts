/** Writes the pages of the reference anew. Run by `npm run reference`. */
import { writeFileSync } from "node:fs";
import { cookbookPage, cookbookPath } from "../examples/cookbook.ts";
import { eventsPage, eventsPath } from "./events-page.ts";
import { referencePage, referencePath } from "./reference-page.ts";

writeFileSync(new URL(`../../${eventsPath}`, import.meta.url), eventsPage());
writeFileSync(new URL(`../../${referencePath}`, import.meta.url), await referencePage());
writeFileSync(new URL(`../../${cookbookPath}`, import.meta.url), cookbookPage());
