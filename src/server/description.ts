/** The OpenAPI 3.1 description of the routes, made of their schemas. Pure. */

import { z } from "zod";
import { type JsonObject, type JsonValue, jsonObjectSchema } from "../events/index.ts";
import type { Route } from "./route/route.ts";

/** The description of the routes, as `/openapi.json` answers it. */
export function describeRoutes(routes: readonly Route[]): JsonObject {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const one of routes) (paths[one.path] ??= {})[one.method] = operation(one);
  return {
    openapi: "3.1.0",
    info: { title: "turnlog", version: "1", description: "Durable sessions of LLM agents." },
    security: [{ token: [] }],
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Problem: jsonSchemaOf(problemSchema) },
    },
    paths,
  };
}

const problemSchema = z.object({
  type: z.literal("about:blank"),
  title: z.string(),
  status: z.int(),
  code: z.string().describe("Stable: switch on this."),
  detail: z.string(),
  session: z.string().optional(),
  position: z.int().optional(),
  details: z.unknown().optional(),
});

function operation({ path, method, summary, query, body, answer }: Route): JsonValue {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]): JsonObject => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const fields: Readonly<Record<string, z.core.$ZodType>> = query.shape;
  const inQuery = Object.entries(fields).map(([name, schema]): JsonObject => ({
    name,
    in: "query",
    required: !(schema instanceof z.ZodType && schema.safeParse(undefined).success),
    schema: jsonSchemaOf(schema),
  }));
  const takesBody = method === "post" && !body.safeParse(undefined).success;
  const content =
    answer.kind === "json"
      ? { "application/json": { schema: jsonSchemaOf(answer.schema) } }
      : { [answer.mediaType]: { schema: { type: "string", description: answer.words } } };
  return {
    summary,
    parameters: [...inPath, ...inQuery],
    ...(takesBody
      ? {
          requestBody: {
            required: true,
            content: { "application/json": { schema: jsonSchemaOf(body) } },
          },
        }
      : {}),
    responses: {
      200: { description: summary, content },
      default: {
        description: "A refusal or a failure.",
        content: {
          "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
        },
      },
    },
  };
}

function jsonSchemaOf(schema: z.core.$ZodType): JsonObject {
  return jsonObjectSchema.parse(
    // `~standard` is for programs, and no JSON.
    JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }))),
  );
}
