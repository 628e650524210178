/**
 * `askPerson`: a running tool asks a person for a login, the values of a form, or a visit to an address. The attempt
 * ends with the question in the log, the turn waits as for an approval, and the call runs again with the answer, in
 * any process. Called by tools, and by the tools of MCP servers; the runtime's tool runner records the question.
 */

import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import {
  questionSchema,
  TurnlogError,
  type CallQuestion,
  type JsonObject,
  type JsonValue,
} from "../events/index.ts";
import { toJson } from "../shared/index.ts";

/** What a person answered. A person who declines ends the call as denied. */
export interface PersonAnswer {
  /** The values of the form; empty for a login or an address. */
  readonly content: JsonObject;
  readonly by?: string;
  /** What the tool gave `askPerson` besides the question. */
  readonly state?: JsonValue;
}

export interface AnsweredQuestion {
  readonly question: CallQuestion;
  readonly answer: PersonAnswer;
}

/** Ends an attempt of a call. It is not an error of the tool: let it pass. */
export class AskedPerson extends Error {
  override readonly name = "AskedPerson";
  readonly #question: CallQuestion;
  readonly state: JsonValue | undefined;

  /** Without reading a thrown value, which may be a proxy that throws. */
  static is(thrown: unknown): thrown is AskedPerson {
    return typeof thrown === "object" && thrown !== null && #question in thrown;
  }

  get question(): CallQuestion {
    return this.#question;
  }

  constructor(question: CallQuestion, state?: JsonValue) {
    super(`The call waits for a person, whom ${question.from} asked (${question.kind}).`);
    this.#question = question;
    this.state = state;
  }
}

/** What the tool runner puts into the options of `execute`. */
export interface Asking {
  readonly ask: (question: CallQuestion, state?: JsonValue) => PersonAnswer;
}

/** Equal questions get their answers in order. Each address of a login is another one. */
export function asking(answered: readonly AnsweredQuestion[]): Asking {
  const left = [...answered];
  return {
    ask: (given, kept) => {
      const question = askable(given);
      const state = kept === undefined ? undefined : toJson(kept);
      const index = left.findIndex((one) =>
        isDeepStrictEqual(keyOf(one.question), keyOf(question)),
      );
      const [found] = index < 0 ? [] : left.splice(index, 1);
      if (found !== undefined) return found.answer;
      throw new AskedPerson(question, state);
    },
  };
}

/** A form is checked when it is answered, so its schema must be one that can be. */
const askableSchema = z.lazy(() =>
  questionSchema.refine((question) => question.kind !== "form" || isUsable(question.schema), {
    message: "its `schema` is no JSON Schema that can be checked",
  }),
);

function isUsable(schema: JsonObject): boolean {
  try {
    return z.fromJSONSchema(schema) !== undefined;
  } catch {
    return false;
  }
}

/** @throws TurnlogError `INVALID_INPUT` */
function askable(question: CallQuestion): CallQuestion {
  const json = toJson(question);
  if (JSON.stringify(json).length > LONGEST_QUESTION)
    throw refused(`it has more than ${LONGEST_QUESTION} characters`);
  const parsed = askableSchema.safeParse(json);
  if (!parsed.success) throw refused(z.prettifyError(parsed.error), parsed.error);
  return parsed.data;
}

const LONGEST_QUESTION = 65_536;

function refused(why: string, cause?: unknown): TurnlogError {
  return new TurnlogError("INVALID_INPUT", `This question cannot be asked: ${why}`, { cause });
}

function keyOf(question: CallQuestion): object {
  return question.kind === "form" ? question : { ...question, url: undefined };
}

const optionsSchema = z.object({
  turnlog: z.object({
    ask: z.custom<Asking["ask"]>((value) => typeof value === "function"),
  }),
});

/**
 * Asks a person in the middle of a call. The first time, it throws, and the call waits in the inbox; once
 * `session.approve(approvalId, { content })` has answered, the tool runs again from its beginning and gets the answer
 * here. So ask before you change anything, or keep what was done by `callIdentity(options).effectId`. Several
 * questions of one call get their answers in order. `session.deny` ends the call as denied.
 * @param options - The second argument of the tool's `execute`.
 * @param state - Kept in the log and given back with the answer.
 * @throws TurnlogError `INVALID_INPUT` for a question that cannot be asked, or if turnlog did not run the tool
 * @example
 * const book = tool({
 *   inputSchema: z.object({ show: z.string() }),
 *   execute: ({ show }, options) => {
 *     const schema = { type: "object", properties: { seats: { type: "integer" } }, required: ["seats"] };
 *     const asked = { kind: "form", from: "Bookings", message: `Seats for ${show}?`, schema } as const;
 *     return `${askPerson(options, asked).content["seats"]} seats for ${show}`;
 *   },
 * });
 */
export function askPerson(
  options: unknown,
  question: CallQuestion,
  state?: JsonValue,
): PersonAnswer {
  const given = optionsSchema.safeParse(options);
  if (!given.success)
    throw new TurnlogError(
      "INVALID_INPUT",
      "These are not the options that turnlog gives to a tool's `execute`: pass on its second argument unchanged.",
      { cause: given.error },
    );
  return given.data.turnlog.ask(question, state);
}
