/**
 * The parameters of commands: how an argument is checked, and the form in which a command uses it. The form is
 * plain JSON wherever the argument can be sent, so that a command is the same here, in another process and over
 * HTTP. Values that belong to a program stay as they are: models, schemas, contexts.
 */

import { toJson } from "../shared/index.ts";
import { z } from "zod";
import { byId } from "../events/index.ts";
import { outputSchema, turnContextSchema } from "../agent/index.ts";
import { check, optionsOf, report, shortName, thing } from "../validation/index.ts";

/** Schemas by the name of the field. */
type Fields = Readonly<Record<string, z.ZodType>>;

export interface Parameter<Own = unknown> {
  readonly name: string;
  /** Undefined: the command checks the argument itself. */
  readonly schema: z.ZodType | undefined;
  readonly isOptional: boolean;
  /** The form in which the command uses a checked argument. */
  readonly own: (value: unknown) => Own;
  /** The fields of options that a client may send; undefined if the argument is one value. */
  readonly fields?: Fields;
  /** The option that a value sets if it is not an object. */
  readonly shorthand?: string;
  /** Whether it is what a user says. Its files are read where the caller is. */
  readonly isMessage?: boolean;
  /** Whether it becomes the metadata of the session: a client cannot change those that its permission demands. */
  readonly isMetadata?: boolean;
  /** Whether the argument is for programs only: a function or an object with functions. */
  readonly isLocal?: boolean;
}

/** Own forms are what the schema of the parameter accepts. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the form
function as<Own>(own: (value: unknown) => unknown): (value: unknown) => Own {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return own as (value: unknown) => Own;
}

interface ValueOptions {
  readonly own?: (value: unknown) => unknown;
  readonly isLocal?: boolean;
  readonly isMetadata?: boolean;
}

export function required<Own>(
  name: string,
  schema: z.ZodType,
  { own = ownOptions, ...more }: ValueOptions = {},
): Parameter<Own> {
  return { name, schema, isOptional: false, own: as(own), ...more };
}

export function optional<Own>(
  name: string,
  schema: z.ZodType,
  { own = ownOptions, ...more }: ValueOptions = {},
): Parameter<Own | undefined> {
  return { name, schema, isOptional: true, own: as(own), ...more };
}

/** An argument that the command checks itself. */
export function unchecked<Own>(name: string, isMessage = false): Parameter<Own> {
  return { name, schema: undefined, isOptional: false, own: as(asGiven), isMessage };
}

type KeysOf<Given> = Given extends unknown ? keyof Given & string : never;

interface OptionsShape<Given> {
  /** All options of the type. */
  readonly fields: Readonly<Record<KeysOf<Given>, z.ZodType>>;
  /** Options for programs only: models, schemas, contexts. */
  readonly local?: readonly KeysOf<Given>[];
  /** Narrower schemas for what a client may send. */
  readonly sent?: Readonly<Partial<Record<KeysOf<Given>, z.ZodType>>>;
  /** What holds of the options together. */
  readonly and?: z.ZodType;
  /** Advice for some unknown names. */
  readonly hints?: Readonly<Record<string, string>>;
  /** The option that a plain text sets. */
  readonly shorthand?: KeysOf<Given>;
  readonly own?: (value: unknown) => unknown;
  readonly name?: string;
}

/** Options, without which the command may be called. */
export function options<Given extends object>(
  shape: OptionsShape<Given>,
): Parameter<Given | undefined> {
  return { ...requiredOptions<Given>(shape), isOptional: true };
}

export function requiredOptions<Given extends object>({
  fields: given,
  local = [],
  sent: narrower,
  and,
  hints = {},
  shorthand,
  own = ownOptions,
  name = "options",
}: OptionsShape<Given>): Parameter<Given> {
  const fields: Fields = given;
  const names: readonly string[] = local;
  const shape = optionsOf<Readonly<Record<string, unknown>>>(fields, {}, { hints });
  const whole = and === undefined ? shape : shape.and(and);
  const sent = Object.entries<z.ZodType>({ ...fields, ...narrower }).filter(
    ([key]) => !names.includes(key),
  );
  const common = { name, isOptional: false, fields: Object.fromEntries(sent) } as const;
  const short = shorthand === undefined ? undefined : fields[shorthand];
  if (shorthand === undefined || short === undefined)
    return { ...common, schema: whole, own: as(own) };
  return {
    ...common,
    shorthand,
    schema: z.unknown().superRefine((value, context) => {
      const [issue] = short.safeParse(value).error?.issues ?? [];
      if (issue !== undefined) report(whole, value, context, [], `, or ${issue.message}`);
    }),
    own: as((value) => own(typeof value === "string" ? { [shorthand]: value } : value)),
  };
}

/**
 * The arguments of a command, checked and in their own form.
 * @param command - Its name, for the message.
 * @throws TurnlogError `INVALID_INPUT`
 */
export function ownArguments(
  session: string,
  {
    name: command,
    parameters,
  }: { readonly name: string; readonly parameters: readonly Parameter[] },
  given: readonly unknown[],
): readonly unknown[] {
  return parameters.map(({ schema, isOptional, name, own }, index) => {
    const value = given[index];
    if (schema === undefined || (value === undefined && isOptional)) return value;
    check(schema, value, command, { name, session });
    return own(value);
  });
}

/** Methods of an object may be inherited. */
export const asGiven = (value: unknown): unknown => value;

/** A copy, since the caller may change its options while the command waits. Inherited fields count too. */
export function ownOptions(option: unknown): unknown {
  if (Array.isArray(option)) return option.map((inner: unknown) => ownOptions(inner));
  if (typeof option !== "object" || option === null) return option;
  const own: Record<string, unknown> = {};
  for (const key in option) {
    const value: unknown = Reflect.get(option, key);
    if (value !== undefined) own[key] = byId(ownFields, key)?.(value) ?? value;
  }
  return own;
}

/** Fields whose given values are not JSON. */
const ownFields: Readonly<Record<string, (value: unknown) => unknown>> = {
  notBefore: (time) => (time instanceof Date ? time.toISOString() : time),
  basedOn: ownOptions,
  about: toJson,
  content: toJson,
};

/** A value that the command checks itself. */
export const anything: z.ZodType = thing("anything", () => true);

/** The values of a turn, which stay in the process of the program. */
export const turnFields = { context: turnContextSchema, output: outputSchema, options: anything };
export const turnFieldNames = ["context", "output", "options"] as const;

/** The name of the person who gives the command, for those that record it. */
export const by: z.ZodType<string> = shortName;
