/**
 * Figures of sessions, without calling a model: `turnlog bill` tells what one paid and for what, or what all paid by
 * day, tenant, model, …; `turnlog context` tells the size of a session's next prompt, now or at a position.
 */

import { readBill } from "../../bill/index.ts";
import { type JsonValue, type ModelName, defined } from "../../events/index.ts";
import { viewSession } from "../../state/index.ts";
import { type LoggedContext, readContext, readStoreBill } from "../../runtime/index.ts";
import { spending } from "../../projections/index.ts";
import { costLines, dollars, missLines, money, partLines } from "../wording/bill-words.ts";
import { UsageError } from "../output/error-report.ts";
import { type Channel, type Output, writeLines } from "../output/output.ts";
import { jsonText, visibleName } from "../output/visible-text.ts";
import { openSessions } from "../settings/store-folder.ts";
import { amount, figure, percent, tableRows } from "../wording/wording.ts";
import { type Given, momentBefore } from "./option-values.ts";
import type { at, billOptions } from "./command-options.ts";
import { resolve } from "node:path";
import { agentParts } from "../chat/model/chat-agent.ts";
import { contextLines } from "../wording/context-drawing.ts";
import { readEnvironment } from "../settings/environment.ts";

type Options = Given<typeof billOptions>;
type Bill = Awaited<ReturnType<typeof readBill>>;
type Row = Awaited<ReturnType<typeof readStoreBill>>[number];

const DEAREST = 10;

export async function bill(
  session: string | undefined,
  options: Options,
  { data, progress }: Output,
): Promise<void> {
  const { by, since, until, where, csv, position, without, caching, model, json, ...place } =
    options;
  const ofStore = [by, since, until, where, csv || undefined].some((one) => one !== undefined);
  const ofSession = [position, without, caching, model].some((one) => one !== undefined);
  if (session === undefined ? ofSession : ofStore)
    throw new UsageError(
      session === undefined
        ? "--position, --without, --caching and --model are for one session: name it."
        : "--by, --since, --until, --where and --csv are for all sessions: leave the name of the session out.",
    );
  await using log = await openSessions(place, { readOnly: true, withoutKey: "redact" });
  if (session !== undefined) {
    const asked = defined({ without, caching: caching && caching === "on", model: modelOf(model) });
    const whatIf = Object.keys(asked).length === 0 ? {} : { whatIf: asked };
    const found = await readBill(log, session, { ...defined({ position }), ...whatIf });
    if (json) return await writeLines(data, [jsonText({ session, ...found })]);
    const { usage } = await viewSession(log, session, position);
    return await writeLines(data, [
      data.style("bold", `${session} at ${found.position}`),
      ...costLines(found, sumsOf(usage)),
      ...turnLines(found),
      ...section(
        "The dearest parts, over all calls that carried them:",
        partLines(found.parts, DEAREST),
      ),
      ...section("What the provider's cache did not read:", missLines(found.misses)),
      ...section("Sub-agents, which pay themselves:", (found.subAgents ?? []).map(subAgentLine)),
      ...whatIfLines(found),
    ]);
  }
  const now = Date.now();
  const query = defined({
    by: by?.split(",").filter((name) => name !== ""),
    from: since && dayOf("--since", since, now),
    to: until && dayOf("--until", until, now),
    where,
  });
  const warned = (error: Error): void => void progress.write(`${error.message}\n`);
  const rows = await readStoreBill(log, query, warned);
  if (json)
    return await writeLines(
      data,
      rows.map((row) => jsonText(row)),
    );
  await writeLines(
    data,
    csv ? csvLines(rows, query.by ?? []) : tableLines(rows, query.by ?? [], data),
  );
}

function subAgentLine({
  session,
  step,
  toolName,
  cost,
}: NonNullable<Bill["subAgents"]>[number]): string {
  return `  ${dollars(cost)}  ${session}: ${visibleName(toolName)}, step ${step}`;
}

function sumsOf(usage: Parameters<typeof spending>[0]): Parameters<typeof costLines>[1] {
  const { steps, retries, compactions, total } = spending(usage);
  return { steps, retries, compactions, total };
}

/** `openai:gpt-5`; a gateway's name has a slash. */
function modelOf(name: string | undefined): ModelName | undefined {
  if (name === undefined) return undefined;
  const [provider = "", ...rest] = name.split(":");
  if (rest.length === 0)
    throw new UsageError("--model takes <provider>:<model>, for instance openai:gpt-5.");
  return { provider, modelId: rest.join(":") };
}

function dayOf(option: string, text: string, now: number): string {
  return new Date(momentBefore(option, text, now)).toISOString().slice(0, 10);
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ["", title, ...lines];
}

/** Each turn that called a model; between turns, only compactions do. */
function turnLines({ calls }: Bill): readonly string[] {
  const turns = [...Map.groupBy(calls, ({ turn }) => turn)];
  if (turns.length < 2) return [];
  return section(
    "By turn:",
    turns.map(([turn, own]) => {
      const sum = own.reduce((before, { dollars }) => before + (dollars?.total ?? 0), 0);
      const input = own.reduce((before, { usage }) => before + usage.inputTokens, 0);
      const name = turn === 0 ? "between turns" : `turn ${turn}`;
      return `  ${money(sum)}  ${name}: ${amount(own.length, "call")}, ${figure(input)} tokens in`;
    }),
  );
}

function whatIfLines({ whatIf, cost }: Bill): readonly string[] {
  if (whatIf === undefined) return [];
  const { dollars, inputTokens, cacheReadTokens, unpriced, tooLong } = whatIf;
  const free =
    unpriced === 0 ? "" : `, without ${amount(unpriced, "call")} that have no known price`;
  const long = tooLong === 0 ? "" : `; ${amount(tooLong, "prompt")} would not have fitted`;
  return section("What if (computed):", [
    `  ${money(dollars)}${free} instead of ${money(cost.total.dollars)}: ${figure(inputTokens)} tokens in, ${figure(cacheReadTokens)} of them read from the cache${long}`,
  ]);
}

const figures = [
  "dollars",
  "calls",
  "inputTokens",
  "cacheReadTokens",
  "outputTokens",
  "unpriced",
] as const;

function tableLines(rows: readonly Row[], by: readonly string[], data: Channel): readonly string[] {
  if (rows.length === 0) return ["No model was called."];
  const head = [...by, "dollars", "calls", "tokens in", "cached", "tokens out"];
  const cells = rows.map((row) => [
    ...by.map((name) => visibleName(textOf(row.of[name]) || "-")),
    `${money(row.dollars)}${row.unpriced === 0 ? "" : "+"}`,
    figure(row.calls),
    figure(row.inputTokens),
    row.inputTokens === 0 ? "" : percent(row.cacheReadTokens / row.inputTokens),
    figure(row.outputTokens),
  ]);
  const [title = "", ...lines] = tableRows([head, ...cells], (column) => column >= by.length);
  const unpriced = rows.reduce((sum, row) => sum + row.unpriced, 0);
  return [
    data.style("bold", title),
    ...lines,
    ...(unpriced === 0 ? [] : [`+ without ${amount(unpriced, "call")} that have no known price`]),
  ];
}

function csvLines(rows: readonly Row[], by: readonly string[]): readonly string[] {
  const line = (cells: readonly string[]): string => cells.map(csvCell).join(",");
  return [
    line([...by, ...figures]),
    ...rows.map((row) =>
      line([
        ...by.map((name) => visibleName(textOf(row.of[name]))),
        ...figures.map((name) => String(row[name])),
      ]),
    ),
  ];
}

/** A program for tables must not take a name for a formula. */
function csvCell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) && !/^-?[\d.e-]+$/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export async function context(
  session: string,
  { position, json, ...place }: Given<[typeof at]>,
  { data }: Output,
): Promise<void> {
  await using log = await openSessions(place, { readOnly: true });
  const found = await readContext(
    log,
    session,
    defined({ position, agents: ownAgents(place.dir) }),
  );
  await writeLines(data, json ? [jsonText(found)] : textLines(found, data));
}

/** The agents of a chat in this folder. If one of them ran the session, instructions and tools are counted apart. */
function ownAgents(dir: string): readonly ReturnType<typeof agentParts>[] {
  const { instructions } = readEnvironment(process.env);
  return [false, true].map((allowWrite) =>
    agentParts({
      folder: process.cwd(),
      store: resolve(dir),
      allowWrite,
      canAsk: false,
      instructions,
    }),
  );
}

function textLines(found: LoggedContext, data: Output["data"]): readonly string[] {
  const title = `${found.session} at ${found.position}`;
  const lines = contextLines(found, data.columns ?? Number.POSITIVE_INFINITY);
  return [data.style("bold", title), ...lines];
}
