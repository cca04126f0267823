#!/usr/bin/env node
// Name and kernel of this host.
// usage: command.mjs [--json]
import { hostname, release } from "node:os";
import { parseArgs } from "node:util";

function main() {
  const { values } = parseArgs({ options: { json: { type: "boolean" } } });
  const answer = { host: hostname(), kernel: release() };
  const lines = Object.entries(answer).map(([key, value]) => `${key} ${value}\n`);
  process.stdout.write(values.json ? `${JSON.stringify(answer)}\n` : lines.join(""));
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error.message}\nusage: {{name}} [--json]\n`);
  process.exitCode = 2;
}
