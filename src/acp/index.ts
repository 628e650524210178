/** Sessions for editors, by the Agent Client Protocol. */

export type { AcpOptions, AcpStore, ReadText } from "./editor-link.ts";
export { serveAcp } from "./serve-acp.ts";
