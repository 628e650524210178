/** The terminal: keys, the line being typed, and a panel below the output. Imports no other module. */

export { cutToCells, rowsOfWords } from "./cells.ts";
export { type Draft, draftRows, draftText, edit, emptyDraft, lineStep } from "./draft.ts";
export { InputHistory } from "./input-history.ts";
export { type Key, openKeyboard } from "./keyboard.ts";
export { LiveScreen, type Panel } from "./live-screen.ts";
export { wrapped, wrappedLines } from "./wrapped-text.ts";
