/**
 * Definitions of the user's own events: their names and the schemas of their data. The log stores what was
 * appended; each reading parses it. Pure.
 */

import type { AppEventType } from "./app-events.ts";
import { isAppEvent, type SessionEvent, type NewEvent } from "./catalogue.ts";
import { TurnlogError } from "../values/errors.ts";
import { jsonObjectSchema, MOST_LEVELS, type JsonObject, plainJson } from "../values/json.ts";

const NAME = /^app\.[a-z0-9][a-z0-9.-]{0,95}$/;
const MOST_BYTES = 1_048_576;

/** A schema of zod, Valibot, ArkType or any other library with the Standard Schema interface. */
interface EventSchema<Input = unknown, Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The schema of each event, by its name. The data of an event is a JSON object. */
export type EventSchemas = Readonly<Record<AppEventType, EventSchema<object>>>;

/** No events of a program. A type with no keys is what is meant. */
// oxlint-disable-next-line typescript/no-generated-empty-object-type
export type NoEvents = Readonly<Record<never, never>>;

type TypesOf<Schema> = Schema extends {
  readonly "~standard": { readonly types?: infer Types };
}
  ? NonNullable<Types>
  : never;

/** What `append` takes: the input of the event's schema. */
export type AppEventInput<Schema> =
  TypesOf<Schema> extends { readonly input: infer Input } ? Input : never;
/** What a reader gets: the output of the event's schema. */
type AppEventOutput<Schema> =
  TypesOf<Schema> extends { readonly output: infer Output } ? Output : never;

/**
 * An event of your program with its data as the schema gives it. Discriminated by `type`.
 * @example
 * const schemas = { "app.paid": z.object({ euros: z.number() }) };
 * const euros = ({ data }: AppEvent<typeof schemas>): number => data.euros;
 */
export type AppEvent<Schemas extends EventSchemas = EventSchemas> = {
  [Type in keyof Schemas & AppEventType]: Omit<SessionEvent<AppEventType>, "type" | "data"> & {
    readonly type: Type;
    readonly data: AppEventOutput<Schemas[Type]>;
  };
}[keyof Schemas & AppEventType];

/** Defined events, whatever their schemas are. */
export interface DefinedEvents<Schemas extends EventSchemas = EventSchemas> {
  readonly schemas: Schemas;
  parse(event: SessionEvent): object | undefined;
}

type AppEvents<Schemas extends EventSchemas> = {
  readonly schemas: Schemas;
  /**
   * The event with its data as the schema gives it. Undefined if it is not one of these events, or if its
   * content was redacted. @throws TurnlogError `EVENT_INVALID` if the data does not fit the schema
   */
  parse(event: SessionEvent): AppEvent<Schemas> | undefined;
};

/**
 * Defines the events of your program. Their names begin with `app.`, and each has a schema.
 * Data is stored as it was appended and parsed each time it is read: when a schema changes, give it defaults
 * or a `preprocess` for what older events lack, or use a new name.
 * @example
 * const tickets = defineEvents({ "app.ticket-opened": z.object({ ticket: z.string() }) });
 * const runtime = await createRuntime({ dir: ".turnlog", agent, events: tickets });
 * const session = await runtime.session("s-1");
 * await session.append("app.ticket-opened", { ticket: "T-1" });
 * @throws TurnlogError `INVALID_INPUT`
 */
export function defineEvents<const Schemas extends EventSchemas>(
  schemas: Schemas & {
    readonly [Type in keyof Schemas]: Type extends AppEventType ? unknown : never;
  },
): AppEvents<Schemas> {
  for (const [type, schema] of Object.entries<unknown>(schemas)) {
    if (!NAME.test(type)) throw invalid(type, NAME_RULE);
    if (!isSchema(schema))
      throw invalid(type, "its schema has no `~standard` interface, as zod's schemas have");
  }
  const own: Schemas = { ...schemas };
  return {
    schemas: own,
    parse: (event) => {
      if (!isAppEvent(event) || isRedacted(event)) return undefined;
      const { type, position } = event;
      if (!Object.hasOwn(own, type)) return undefined;
      const result = validated(own, type, event.data);
      if (result.issues !== undefined) {
        throw new TurnlogError(
          "EVENT_INVALID",
          `The event at position ${position} is of type ${type} and its data does not fit: ${issueText(result.issues)}. It fitted an earlier schema: let the schema accept what older events have.`,
          { position, details: { type } },
        );
      }
      // The schema of its own type made the data.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return { ...event, data: result.value } as unknown as AppEvent<Schemas>;
    },
  };
}

const NAME_RULE =
  "a name is `app.` and 1 to 96 of the characters a-z 0-9 . - (all other names belong to turnlog)";

/**
 * Checks the data of an event that a program appends, and answers it as JSON.
 * @throws TurnlogError `INVALID_INPUT`
 */
export function checkedAppData(
  { schemas }: DefinedEvents,
  type: AppEventType,
  given: unknown,
): JsonObject {
  const data = jsonObjectSchema.safeParse(plainJson(given)).data;
  if (data === undefined)
    throw invalid(type, `its data must be a JSON object of at most ${MOST_LEVELS} levels`);
  const taken = Object.keys(data).find(
    (key) => key === REDACTED_FIELD || key.startsWith("turnlog."),
  );
  if (taken !== undefined)
    throw invalid(type, `the field \`${taken}\` of its data is turnlog's own`);
  if (JSON.stringify(data).length > MOST_BYTES)
    throw invalid(
      type,
      "its data is larger than 1 MiB. Store it elsewhere, and append a reference",
    );
  const { issues } = validated(schemas, type, data);
  if (issues !== undefined) throw invalid(type, `its data does not fit: ${issueText(issues)}`);
  return data;
}

function validated<Schemas extends EventSchemas>(
  schemas: Schemas,
  type: keyof Schemas & AppEventType,
  data: JsonObject,
): SchemaResult<unknown> {
  const schema: EventSchema | undefined = schemas[type];
  if (schema === undefined) throw invalid(type, "it is not defined");
  const result = schema["~standard"].validate(data);
  if (!(result instanceof Promise)) return result;
  result.catch(() => {});
  throw invalid(type, "its schema returns a promise, and a fold cannot wait for one");
}

function issueText(issues: readonly SchemaIssue[]): string {
  return issues
    .map(({ message, path = [] }) =>
      path.length === 0 ? message : `${fieldText(path)}: ${message}`,
    )
    .join("; ");
}

function fieldText(path: NonNullable<SchemaIssue["path"]>): string {
  const keys = path.map((segment) => String(typeof segment === "object" ? segment.key : segment));
  return `\`${keys.join(".")}\``;
}

function isSchema(value: unknown): boolean {
  const own: unknown = Reflect.get(Object(value), "~standard");
  return typeof Reflect.get(Object(own), "validate") === "function";
}

function invalid(type: string, why: string): TurnlogError {
  return new TurnlogError("INVALID_INPUT", `The event ${JSON.stringify(type)}: ${why}.`, {
    details: { type },
  });
}

// The form of a redacted event: its type stays, placeholders replace its content. Pure.

export const REDACTED = "[redacted]";

export const REDACTED_FIELD = "redacted";

/**
 * Whether an event was redacted.
 * @example
 * const readable = events.filter((event) => !isRedacted(event));
 */
export function isRedacted({ type, data }: NewEvent): boolean {
  const content: unknown = type === "unknown" ? data.data : data;
  return (
    typeof content === "object" &&
    content !== null &&
    REDACTED_FIELD in content &&
    content[REDACTED_FIELD] === true
  );
}
