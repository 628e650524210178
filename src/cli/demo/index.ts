/** The sessions that `turnlog studio --demo` shows: made offline with scripted models. */

export { demoAgent } from "./demo-agent.ts";
export { makeDemoStore } from "./demo-store.ts";
