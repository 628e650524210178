/**
 * Lets the examples import the package by its name, as their readers do: from the sources. Runs before every test file
 * that Node loads by itself.
 */

import { registerHooks } from "node:module";

const sources = new URL("../../src/public/", import.meta.url);

registerHooks({
  resolve: (name, context, next) => {
    const ours = /^turnlog(?:\/(?<entry>\w+))?$/u.exec(name)?.groups;
    if (ours === undefined) return next(name, context);
    return next(new URL(`${ours["entry"] ?? "index"}.ts`, sources).href, context);
  },
});
