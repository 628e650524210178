/** The page of another site: it only has the client. */

import { createClient } from "../../../src/public/client.ts";

Object.assign(globalThis, { createClient });
