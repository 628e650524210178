/**
 * The input schema of a tool as providers accept it: an object without alternatives at its top, valid in each
 * keyword. It may allow more than the tool's own schema, which validates the inputs. Pure.
 */

import { type JsonObject, type JsonValue, isRecord, isList } from "../events/index.ts";

export interface RequestSchema {
  readonly schema: JsonObject;
  /** The tool's own names of properties that were renamed, by the sent ones. */
  readonly ownKeys: ReadonlyMap<string, string>;
}

/** @param keys - The form of the names of properties, if the model asks for one. */
export function requestSchema(given: JsonValue, keys: RegExp | undefined): RequestSchema {
  const folded = folding(soundRoot(given));
  const { schema, ownKeys } =
    keys === undefined ? { schema: folded, ownKeys: new Map() } : renamed(folded, keys);
  // A second pass, for references to definitions that the first one removed.
  return { schema: soundRoot(schema), ownKeys };
}

const types: ReadonlySet<unknown> = new Set([
  "array",
  "boolean",
  "integer",
  "null",
  "number",
  "object",
  "string",
]);

const isText = (value: JsonValue): value is string => typeof value === "string";
const isNumber = (value: JsonValue): boolean => typeof value === "number";
const isFlag = (value: JsonValue): boolean => typeof value === "boolean";
const isSchema = (value: JsonValue): boolean => isFlag(value) || isRecord(value);
const isFilled = (value: JsonValue): boolean => isList(value) && value.length > 0;

/** Rules of keywords whose values are no schemas. Providers refuse a whole request for a wrong one. */
const rules: Readonly<Record<string, (value: JsonValue) => boolean>> = {
  type: (value) =>
    isList(value) ? value.length > 0 && value.every((one) => types.has(one)) : types.has(value),
  required: (value) => isList(value) && value.every(isText),
  enum: isFilled,
  title: isText,
  description: isText,
  pattern: isText,
  format: isText,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: isNumber,
  minLength: isNumber,
  maxLength: isNumber,
  minItems: isNumber,
  maxItems: isNumber,
  minProperties: isNumber,
  maxProperties: isNumber,
  uniqueItems: isFlag,
};
const maps = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
const lists = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const singles = new Set(
  "items additionalProperties contains propertyNames not if then else".split(" "),
);

function soundRoot(given: JsonValue): JsonObject {
  return isRecord(given) ? sound(given, given) : {};
}

function soundSchema(given: JsonValue, root: JsonObject): JsonValue {
  return isRecord(given) ? sound(given, root) : given;
}

/** Without keywords that have wrong values, and with items for each array. */
function sound(given: JsonObject, root: JsonObject): JsonObject {
  const schema = Object.fromEntries(
    Object.entries(given).flatMap(([keyword, value]): readonly [string, JsonValue][] => {
      if (value === undefined) return [];
      if (keyword === "$ref") return target(value, root) === undefined ? [] : [[keyword, value]];
      if (keyword === "required" && isList(value)) {
        return value.every(isText) ? [[keyword, [...new Set(value)]]] : [];
      }
      if (maps.has(keyword)) {
        if (!isRecord(value)) return [];
        const schemas = Object.entries(value).filter(
          ([, one]) => one !== undefined && isSchema(one),
        );
        return [[keyword, mapped(schemas, (one) => soundSchema(one, root))]];
      }
      if (lists.has(keyword)) {
        if (!isList(value)) return [];
        const schemas = value.filter(isSchema).map((one) => soundSchema(one, root));
        return schemas.length === 0 ? [] : [[keyword, schemas]];
      }
      if (keyword === "items" && isList(value)) {
        return [[keyword, either(value.filter(isSchema).map((one) => soundSchema(one, root)))]];
      }
      if (singles.has(keyword)) return isSchema(value) ? [[keyword, soundSchema(value, root)]] : [];
      return (own(rules, keyword)?.(value) ?? true) ? [[keyword, value]] : [];
    }),
  );
  const { type, properties, required } = schema;
  if (includes(type, "array") && !("items" in schema) && !("prefixItems" in schema)) {
    schema["items"] = {};
  }
  if (isRecord(properties) && isList(required)) {
    const missing = required.filter(isText).filter((key) => !Object.hasOwn(properties, key));
    if (missing.length > 0)
      schema["properties"] = { ...properties, ...mapped(missing.map((key) => [key, {}])) };
  }
  return schema;
}

/** Whether a schema names a type, and it is not that of objects: no model can call such a tool. */
export function isNoObject(given: JsonValue): boolean {
  const type = isRecord(given) ? given["type"] : undefined;
  return type !== undefined && !includes(type, "object");
}

/** What a schema says of an object. */
interface Form {
  readonly properties: JsonObject;
  readonly required: readonly string[];
  /** It takes no other properties. */
  readonly isClosed: boolean;
}

const open: Form = { properties: {}, required: [], isClosed: false };

/** Keywords that providers refuse at the top of a schema. */
const refused = ["anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"];

function folding(root: JsonObject): JsonObject {
  if (root["type"] === "object" && !refused.some((keyword) => keyword in root)) return root;
  const { properties, required, isClosed } = formOf(root, root, 0) ?? open;
  const rest = Object.entries(root).filter(([keyword]) => !refused.includes(keyword));
  return {
    ...Object.fromEntries(rest),
    type: "object",
    properties,
    ...(required.length === 0 ? {} : { required: [...required] }),
    ...(isClosed ? { additionalProperties: false } : {}),
  };
}

/** References may lead in a circle. */
const DEEPEST = 16;

/** Undefined for a schema of something else than an object. */
function formOf(schema: JsonValue, root: JsonObject, depth: number): Form | undefined {
  if (!isRecord(schema) || depth > DEEPEST) return open;
  const { type, properties, required, $ref } = schema;
  if (type !== undefined && !includes(type, "object")) return undefined;
  const parts: (Form | undefined)[] = [
    {
      properties: isRecord(properties) ? properties : {},
      required: isList(required) ? required.filter(isText) : [],
      isClosed: schema["additionalProperties"] === false,
    },
  ];
  const inside = (one: JsonValue): Form | undefined => formOf(one, root, depth + 1);
  if ($ref !== undefined) parts.push(inside(target($ref, root) ?? {}));
  const { allOf, anyOf, oneOf } = schema;
  if (isList(allOf)) parts.push(...allOf.map(inside));
  for (const choice of [anyOf, oneOf]) if (isList(choice)) parts.push(oneForm(choice.map(inside)));
  const forms = parts.filter((form) => form !== undefined);
  return {
    properties: merged(forms, (first, second) =>
      isRecord(first) && isRecord(second) ? { ...first, ...second } : second,
    ),
    required: [...new Set(forms.flatMap((form) => form.required))],
    isClosed: forms.some((form) => form.isClosed),
  };
}

/** The properties of all alternatives; required are those that each of them requires. */
function oneForm(alternatives: readonly (Form | undefined)[]): Form | undefined {
  const forms = alternatives.filter((form) => form !== undefined);
  const [first = open] = forms;
  return {
    properties: merged(forms, (one, other) => either([one, other])),
    required: first.required.filter((key) => forms.every((form) => form.required.includes(key))),
    isClosed: forms.length > 0 && forms.every((form) => form.isClosed),
  };
}

function merged(
  forms: readonly Form[],
  both: (one: JsonValue, other: JsonValue) => JsonValue,
): JsonObject {
  const all = new Map<string, JsonValue>();
  for (const [key, schema] of forms.flatMap((form) => Object.entries(form.properties))) {
    if (schema === undefined) continue;
    const before = all.get(key);
    all.set(key, before === undefined ? schema : both(before, schema));
  }
  return Object.fromEntries(all);
}

function either(schemas: readonly JsonValue[]): JsonValue {
  const options = schemas.flatMap((schema) => {
    const { anyOf } = isRecord(schema) ? schema : {};
    const isChoice = isRecord(schema) && isList(anyOf) && Object.keys(schema).length === 1;
    return isChoice ? anyOf : [schema];
  });
  const texts = options.map((option) => JSON.stringify(option));
  const distinct = options.filter((_option, index) => texts.indexOf(texts[index] ?? "") === index);
  const [first = {}] = distinct;
  return distinct.length < 2 ? first : { anyOf: distinct };
}

/** With names of properties that the model accepts. */
function renamed(schema: JsonObject, form: RegExp): RequestSchema {
  const { properties, required } = schema;
  const ownKeys = new Map<string, string>();
  const keys = isRecord(properties) ? Object.keys(properties) : [];
  if (!isRecord(properties) || keys.every((key) => form.test(key))) return { schema, ownKeys };
  const taken = new Set(keys.filter((key) => form.test(key)));
  const sentKeys = new Map<string, string>();
  for (const key of keys) {
    if (form.test(key)) continue;
    const plain = key.replaceAll(/[^\w.-]+/g, "_").slice(0, 60);
    let name = plain === "" ? "_" : plain;
    for (let number = 2; taken.has(name); number++) name = `${plain}_${number}`;
    taken.add(name);
    sentKeys.set(key, name);
    ownKeys.set(name, key);
  }
  const sent = (key: string): string => sentKeys.get(key) ?? key;
  return {
    schema: {
      ...schema,
      properties: mapped(Object.entries(properties).map(([key, one]) => [sent(key), one ?? {}])),
      ...(isList(required) ? { required: required.filter(isText).map(sent) } : {}),
    },
    ownKeys,
  };
}

/** The schema that a reference names in the same document. */
function target(reference: JsonValue, root: JsonObject): JsonValue | undefined {
  if (typeof reference !== "string" || !reference.startsWith("#")) return undefined;
  let found: JsonValue | undefined = root;
  for (const step of reference.slice(1).split("/").slice(1)) {
    const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (isList(found)) found = found[Number(key)];
    else if (isRecord(found)) found = own(found, key);
    else return undefined;
  }
  // A name of another kind, such as an anchor.
  return reference === "#" || reference.startsWith("#/") ? found : undefined;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function own<Value>(record: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function mapped(
  entries: readonly (readonly [string, JsonValue | undefined])[],
  change: (value: JsonValue) => JsonValue = (value) => value,
): JsonObject {
  return Object.fromEntries(
    entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, change(value)] as const])),
  );
}

function includes(type: JsonValue | undefined, name: string): boolean {
  return type === name || (isList(type) && type.includes(name));
}
