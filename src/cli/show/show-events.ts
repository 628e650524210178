/** One event on one line. Pure. */

import { textStart, type SessionEvent } from "../../events/index.ts";
import type { Channel } from "../output/output.ts";
import { visibleName, visibleText } from "../output/visible-text.ts";
import { leftMark, type LeftAt } from "./show-branches.ts";
import { contextWords } from "../wording/context-words.ts";
import { figure, timeOfDay } from "../wording/wording.ts";

/**
 * Cut at the terminal's width, with the size of the whole; whole without a terminal, so that it can be
 * searched. `full`: whole in a terminal, too. `leftAt`: marks the events that are off the active branch.
 */
export function eventLine(
  event: SessionEvent,
  data: Channel,
  full = false,
  leftAt: LeftAt = () => undefined,
): string {
  const type = event.type === "unknown" ? event.data.type : event.type;
  const content = event.type === "unknown" ? event.data.data : event.data;
  const place = `${String(event.position).padStart(6)}  ${timeOfDay(event.time)}  `;
  const name = visibleName(type).padEnd(24);
  const words = contextWords(event);
  const mark = leftMark(event.position, leftAt);
  const json = `${mark}${words === undefined ? "" : `${words} `}${JSON.stringify(content)}`;
  const width =
    data.columns === undefined || full
      ? json.length
      : Math.max(20, data.columns - place.length - 25);
  const size = `… [${figure(json.length)}]`;
  const text = json.length > width ? `${textStart(json, width - size.length)}${size}` : json;
  return `${data.style("dim", place)}${data.style(styleOf(type), name)} ${visibleText(text)}`;
}

function styleOf(type: string): "dim" | "red" | "cyan" | "yellow" {
  if (/failed|denied|unknown|interrupted|rejected|error/.test(type)) return "red";
  if (/-delta$|-start$|-end$/.test(type)) return "dim";
  return /^(session|message|turn)\./.test(type) ? "yellow" : "cyan";
}
