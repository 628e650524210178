#!/usr/bin/env node
"use strict";
/*
 * The `turnlog` command: checks the Node, then loads the built command line, or its sources where
 * there is no build, as in a clone (`src/cli/main.ts` is what runs either way).
 * CommonJS, so that an old Node gets as far as the check.
 */

require("./node-version.cjs");
const fs = require("node:fs");

if (fs.existsSync(`${__dirname}/../dist/cli/main.js`)) void import("../dist/cli/main.js");
else if (process.features.typescript) void import("../src/cli/main.ts");
else {
  console.error(
    `turnlog is not built here, and ${process.version} does not read its sources by itself. ` +
      "`npm run build` builds it; `npm start --` runs the sources with the Node that `npm ci` installs.",
  );
  process.exit(1);
}
