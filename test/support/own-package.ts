/**
 * Lets the examples import the package by its name, as their readers do: from the sources. Runs before every test file
 * that Node loads by itself. Registers its hook once per process, since Node calls every registered hook for each import.
 */

import { registerHooks } from "node:module";

const sources = new URL("../../src/public/", import.meta.url);

const hooked = Symbol.for("turnlog.own-package");

if (!Reflect.has(globalThis, hooked)) {
  Reflect.set(globalThis, hooked, true);
  registerHooks({
    resolve: (name, context, next) => {
      const ours = /^turnlog(?:\/(?<entry>\w+))?$/u.exec(name)?.groups;
      if (ours === undefined) return next(name, context);
      return next(new URL(`${ours["entry"] ?? "index"}.ts`, sources).href, context);
    },
  });
}
