/** The bill of one session: its calls, its parts over their life, the cache, and what if. Pure. */

export { sessionBill, type SessionBill, type WhatIf } from "./session-bill.ts";
