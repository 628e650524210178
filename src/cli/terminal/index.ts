/** The terminal: keys, the line being edited, and a screen region that is drawn again. */

export { cutToCells, rowsOfWords } from "./cells.ts";
export { type Draft, draftRow, draftText, edit, emptyDraft } from "./draft.ts";
export type { Key } from "./key.ts";
export { holdKeyboard } from "./keyboard.ts";
export { LiveScreen, type Panel } from "./live-screen.ts";
export { Recall } from "./recall.ts";
