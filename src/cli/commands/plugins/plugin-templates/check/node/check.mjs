#!/usr/bin/env node
// How many entries there are right below a folder.
// usage: check.mjs --dir DIR --warn N --crit N
import { readdirSync } from "node:fs";
import { parseArgs } from "node:util";

const words = ["OK", "WARNING", "CRITICAL", "UNKNOWN"];

function answer(code, text) {
  process.stdout.write(`{{label}} ${words[code]} - ${text}\n`);
  process.exitCode = code;
}

function threshold(text) {
  if (!/^\d+$/.test(text)) throw new Error("--warn and --crit take numbers");
  return Number(text);
}

try {
  const option = { type: "string", default: "" };
  const { values } = parseArgs({ options: { dir: option, warn: option, crit: option } });
  const [warn, crit] = [threshold(values.warn), threshold(values.crit)];
  const count = readdirSync(values.dir).length;
  const code = count > crit ? 2 : count > warn ? 1 : 0;
  answer(code, `${count} entries in ${values.dir} | entries=${count};${warn};${crit};0`);
} catch (error) {
  answer(3, error.message);
}
