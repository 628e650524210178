/** The sessions that `turnlog studio --demo` shows, and the tour of `turnlog --demo`: both without a network. */

export { demoAgent } from "./demo-agent.ts";
export { tour } from "./tour.ts";
export { playTour } from "./tour-process.ts";
export { makeDemoStore } from "./demo-store.ts";
