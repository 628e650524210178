/** What the server's option `request` makes of the fields that an application sends with a message. */

import { z } from "zod";
import { TurnlogError, type JsonObject, type JsonValue } from "../../events/index.ts";
import { toJson } from "../../shared/index.ts";

/** What a message of a page asks of its turn. */
export interface RequestedTurn {
  /** For the agent's `prepareCall`, validated by its `callOptionsSchema`. */
  readonly options?: JsonValue | undefined;
  /** For `contextFor` and the tools, as `about.context` of `session.send`. */
  readonly context?: JsonObject | undefined;
  /** The name of the agent of a new session, in a runtime with several. */
  readonly agent?: string | undefined;
}

const turnSchema: z.ZodType<RequestedTurn> = z.strictObject({
  options: z.json().exactOptional(),
  context: z.record(z.string(), z.json()).exactOptional(),
  agent: z.string().min(1).exactOptional(),
});

/**
 * @param known - The fields of the route
 * @throws TurnlogError `INVALID_INPUT` for fields that nothing reads; `CALLBACK_FAILED`
 */
export async function requestedTurn<Permission>(
  request:
    | ((
        body: Readonly<Record<string, unknown>>,
        permission: Permission,
      ) => RequestedTurn | Promise<RequestedTurn>)
    | undefined,
  permission: Permission,
  own: Readonly<Record<string, unknown>>,
  known: readonly string[],
): Promise<RequestedTurn> {
  const [unknown] = Object.keys(own);
  if (request === undefined && unknown !== undefined)
    throw new TurnlogError(
      "INVALID_INPUT",
      `\`${unknown}\` is unknown. Known here: ${known.join(", ")}. The server's option \`request\` reads fields of the application.`,
      { details: { option: unknown } },
    );
  if (request === undefined) return {};
  const { data, error } = turnSchema.safeParse(toJson(await request(own, permission)));
  if (data !== undefined) return data;
  throw new TurnlogError(
    "CALLBACK_FAILED",
    `The server's \`request\` must return an object of JSON with \`options\`, \`context\` or \`agent\`: ${z.prettifyError(error)}`,
    { cause: error },
  );
}
