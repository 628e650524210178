/** Input schemas of tools as providers accept them. */

import { asSchema, jsonSchema } from "@ai-sdk/provider-utils";
import { dynamicTool, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openai } from "@ai-sdk/openai";
import { prepareAgent } from "../../src/agent/index.ts";
import { requestSchema } from "../../src/agent/request-schema.ts";
import { jsonObjectSchema, type JsonValue } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";

const sent = (schema: JsonValue) => requestSchema(schema, undefined).schema;
const object = (properties: object, more: object = {}) =>
  jsonObjectSchema.parse({ type: "object", properties, ...more });
const a = { type: "string" };
const b = { type: "number" };

describe("a schema with alternatives at its top", () => {
  it.each(["anyOf", "oneOf"])("is one object: required is what all require (%s)", (keyword) => {
    const alternatives = [
      object({ kind: { const: "a" }, a }, { required: ["kind", "a"], additionalProperties: false }),
      object({ kind: { const: "b" }, b }, { required: ["kind"], additionalProperties: false }),
      { type: "null" },
    ];
    expect(sent({ description: "Either.", [keyword]: alternatives })).toEqual(
      object(
        { kind: { anyOf: [{ const: "a" }, { const: "b" }] }, a, b },
        { description: "Either.", required: ["kind"], additionalProperties: false },
      ),
    );
  });

  it("has no reference to a definition that is none", () => {
    const schema = object({ a: { $ref: "#/$defs/a" } }, { $defs: { a: 5 } });
    expect(sent(schema)).toEqual(object({ a: {} }, { $defs: {} }));
  });

  it("has all that `allOf` requires, and what it has itself", () => {
    const schema = object({ a }, { allOf: [object({ b }, { required: ["b"] })], required: ["a"] });
    expect(sent(schema)).toEqual(object({ a, b }, { required: ["a", "b"] }));
  });

  it("keeps its references, and those to alternatives that are not there any more mean anything", () => {
    const $defs = { b: object({ b, next: { $ref: "#/$defs/b" } }) };
    const one = object({ one: { $ref: "#/anyOf/1/properties/b" } });
    expect(sent({ anyOf: [one, { $ref: "#/$defs/b" }], $defs })).toEqual(
      object({ one: {}, b, next: { $ref: "#/$defs/b" } }, { $defs }),
    );
  });

  it("may name itself", () => {
    expect(sent({ anyOf: [{ $ref: "#" }, object({ a })] })).toEqual(object({ a }));
  });
});

it.each<[string, JsonValue, JsonValue]>([
  ["no type", { properties: { a } }, object({ a })],
  ["true", true, object({})],
  ["a list of types", { type: ["object", "null"], properties: { a } }, object({ a })],
  ["`enum` at the top", object({ a }, { enum: [{ a: "x" }] }), object({ a })],
  ["a type that does not exist", object({ a: { type: "any" } }), object({ a: {} })],
  ["a list of no types", object({ a: { type: [] } }), object({ a: {} })],
  [
    "a reference into a list, which stays",
    object({ a: { anyOf: [a, b] }, c: { $ref: "#/properties/a/anyOf/1" } }),
    object({ a: { anyOf: [a, b] }, c: { $ref: "#/properties/a/anyOf/1" } }),
  ],
  [
    "an array of anything",
    object({ a: { type: "array" } }),
    object({ a: { type: "array", items: {} } }),
  ],
  [
    "items one by one",
    object({ a: { type: "array", items: [a, b, a] } }),
    object({ a: { type: "array", items: { anyOf: [a, b] } } }),
  ],
  ["`required` of a property", object({ a: { ...a, required: true } }), object({ a })],
  [
    "a property twice in `required`",
    object({ a }, { required: ["a", "a"] }),
    object({ a }, { required: ["a"] }),
  ],
  [
    "a property that is required only",
    object({ a }, { required: ["c"] }),
    object({ a, c: {} }, { required: ["c"] }),
  ],
  ["bounds of draft 4", object({ b: { ...b, exclusiveMinimum: true } }), object({ b })],
  ["a property that is no schema", object({ a, type: "object" }), object({ a })],
  ["a reference to nothing", object({ a: { $ref: "#/components/a" } }), object({ a: {} })],
  ["an empty `enum`", object({ a: { ...a, enum: [] } }), object({ a })],
])("a schema with %s is sent as every provider takes it", (_what, schema, expected) => {
  expect(sent(schema)).toEqual(expected);
});

it("a schema that every provider takes is sent to the letter", async () => {
  const node: z.ZodType = z.object({ name: z.string(), next: z.lazy(() => node).optional() });
  const schemas: readonly z.ZodType[] = [
    z.object({ a: z.string().min(1).describe("A."), b: z.number().int().max(3).optional() }),
    z.object({
      a: z.union([z.string(), z.null()]),
      b: z.enum(["x", "y"]),
      c: z.array(z.object({})),
    }),
    z.object({ a: z.record(z.string(), z.unknown()), b: z.literal(3), c: z.unknown() }),
    z.strictObject({ default: z.string().default("x"), node }),
  ];
  for (const schema of schemas) {
    const made = jsonObjectSchema.parse(await asSchema(schema).jsonSchema);
    expect(JSON.stringify(sent(made))).toBe(JSON.stringify(made));
  }
});

it("names of properties that Claude refuses are others, and lead back to the tool's own", () => {
  const { schema, ownKeys } = requestSchema(
    object({ "filter[id]": a, filter_id_: b, $top: b }, { required: ["filter[id]"] }),
    /^[\w.-]{1,64}$/,
  );
  expect(schema).toEqual(
    object({ filter_id__2: a, filter_id_: b, _top: b }, { required: ["filter_id__2"] }),
  );
  expect(ownKeys).toEqual(
    new Map([
      ["filter_id__2", "filter[id]"],
      ["_top", "$top"],
    ]),
  );
});

describe("an agent's tool whose input is no object", () => {
  const model = scriptedModel([]);

  it("is refused, as no model could call it", async () => {
    const shout = tool({ inputSchema: z.string(), execute: (text: string) => text });
    await expect(prepareAgent({ model, tools: { shout } })).rejects.toThrow(
      "`agent.tools.shout.inputSchema` is not a schema of an object",
    );
  });

  it("may be the provider's", async () => {
    const shout = openai.tools.customTool({ description: "Shouts." });
    await expect(prepareAgent({ model, tools: { shout } })).resolves.toBeDefined();
  });
});

it("the digest of an agent follows from the schemas as they were given", async () => {
  const model = scriptedModel([]);
  const digest = async (schema: object) => {
    const look = dynamicTool({ inputSchema: jsonSchema(schema), execute: () => "" });
    const first = await prepareAgent({ model, tools: { look } });
    const again = await prepareAgent(first.agent);
    expect(again.description.digest).toBe(first.description.digest);
    return first.description.digest;
  };
  expect(await digest({ anyOf: [object({ a })] })).not.toBe(await digest(object({ a })));
});
