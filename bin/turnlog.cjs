#!/usr/bin/env node
"use strict";
/*
 * The `turnlog` command of the published package: checks the Node, then loads the built command line.
 * CommonJS, so that an old Node gets as far as the check. `src/cli/main.ts` is what runs.
 */

require("./node-version.cjs");
void import("../dist/cli/main.js");
