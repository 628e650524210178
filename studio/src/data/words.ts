/** Numbers, sizes and times as a page shows them. Pure, in the browser's own language and time zone. */

const whole = new Intl.NumberFormat("en-US");
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

export const figure = (value: number): string => whole.format(value);

export function tokens(value: number): string {
  return value < 10_000 ? whole.format(value) : short.format(value).toLowerCase();
}

export function dollars(value: number): string {
  if (value === 0) return "$0";
  if (value < 0.0001) return "< $0.0001";
  return `$${value.toFixed(value < 0.01 ? 4 : value < 1 ? 3 : 2)}`;
}

export function duration(ms: number): string {
  if (ms < 1) return "0 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
}

const clock = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

export const timeOfDay = (time: number): string => clock.format(time);

export function exactTime(time: number): string {
  return `${day.format(time)}, ${clock.format(time)}.${String(time % 1_000).padStart(3, "0")}`;
}

export function ago(time: number, now: number): string {
  const ms = now - time;
  return ms < 45_000 ? "now" : `${duration(ms)} ago`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${figure(count)} ${count === 1 ? one : many}`;
}

/** The beginning of a text on one line. */
export function oneLine(text: string, most = 200): string {
  const line = text
    .slice(0, most * 2)
    .replaceAll(/\s+/gu, " ")
    .trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

/** The beginning of a value's JSON: of megabytes, no more is written than a line shows. */
export function shortJson(value: unknown): string {
  if (typeof value === "string") return value.slice(0, 600);
  const text = JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === "string") return inner.slice(0, 600);
    return Array.isArray(inner) ? inner.slice(0, 50) : inner;
  });
  return text === undefined || text === "{}" ? "" : text.slice(0, 600);
}

/** How the conversation was sent again after a refusal. */
export const reducedTo = {
  "without-media": "without some files",
  "as-text": "as plain text",
  "newest-only": "without anything before the newest message",
} as const;
