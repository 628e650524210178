/** Text for HTML and XML: whatever a model or a tool wrote stays text. Pure. */

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Characters that XML forbids, and those that hide or reorder text. */
const unsafe =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\uFFFE\uFFFF]/gu;

/** For the content of elements and for attributes in double quotes. */
export function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(unsafe, "\uFFFD")
    .replaceAll(/[&<>"']/gu, (sign) => entities[sign] ?? "");
}
