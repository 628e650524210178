/** Tool definitions as models read them: types for OpenAI's, fewer keywords for Gemini's, else as they are sent. */

import { describe, expect, it } from "vitest";
import { toolsCount, toolsText } from "../../src/context/estimate/tools-text.ts";

const tools = [
  { name: "now", description: "", inputSchema: { type: "object", properties: {} } },
  {
    name: "book",
    description: "Books.\nOnce.",
    inputSchema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      $defs: { Seat: { type: "object", properties: { row: { type: "integer" } } } },
      properties: {
        cabin: { enum: ["economy", "business"], description: "The class." },
        seats: { type: "array", items: { $ref: "#/$defs/Seat" } },
        name: { type: ["string", "null"], default: null },
        code: { anyOf: [{ type: "string" }, { type: "number" }] },
        more: {},
      },
      required: ["cabin"],
      additionalProperties: false,
    },
  },
];
const json = JSON.stringify(tools);

describe("the text of tools", () => {
  it("is their JSON where that is what the model reads", () => {
    expect(toolsText(json, "json")).toBe(json);
    expect(toolsCount(json)).toBe(2);
  });

  it("is types for OpenAI's models", () => {
    expect(toolsText(json, "typescript")).toBe(`# Tools

## functions

namespace functions {

type now = () => any;

// Books.
// Once.
type book = (_: {
// The class.
cabin: "economy" | "business",
seats?: {
row?: number,
}[],
name?: string | null, // default: null
code?: string | number,
more?: any,
}) => any;

} // namespace functions`);
  });

  it("lacks keywords that Gemini's schemas lack, and what is empty", () => {
    const properties = { size: { type: "integer" }, more: {} };
    const schema = { type: "object", properties, additionalProperties: false };
    const inputSchema = { $schema: "http://json-schema.org/draft-07/schema#", ...schema };
    const given = [
      { name: "now", description: "", inputSchema: { type: "object", properties: {} } },
      { name: "fill", description: "Fills.", inputSchema },
    ];
    expect(JSON.parse(toolsText(JSON.stringify(given), "openapi"))).toEqual([
      { name: "now", inputSchema: { type: "object" } },
      {
        name: "fill",
        description: "Fills.",
        inputSchema: { type: "object", properties: { size: { type: "integer" } } },
      },
    ]);
  });

  it("ends for a schema that refers to itself", () => {
    const inputSchema = {
      type: "object",
      properties: { child: { $ref: "#" }, list: { type: "array", items: { $ref: "#/nowhere" } } },
    };
    const text = toolsText(JSON.stringify([{ name: "tree", inputSchema }]), "typescript");
    expect(text.length).toBeLessThan(2000);
    expect(text).toContain("list?: any[],");
  });

  it("stays as it is if it is no list", () => {
    for (const text of ["", "plain", "{}"]) {
      expect(toolsText(text, "typescript")).toBe(text);
      expect(toolsCount(text)).toBe(0);
    }
  });
});
