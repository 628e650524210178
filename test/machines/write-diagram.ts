/** Writes `docs/session-machine.md` anew. Run by `npm run diagram`. */
import { writeFileSync } from "node:fs";
import { documentPath, sessionDocument } from "./session-document.ts";

writeFileSync(new URL(`../../${documentPath}`, import.meta.url), sessionDocument());
