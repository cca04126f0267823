#!/usr/bin/env node
// Says no to updates while a file exists; its first line is the reason.
// usage: hook.mjs FILE < EVENT
import { existsSync, readFileSync } from "node:fs";

const [file = ""] = process.argv.slice(2);
const { event } = JSON.parse(readFileSync(0, "utf8"));

if (event === "pre_update" && existsSync(file)) {
  const [line = ""] = readFileSync(file, "utf8").split("\n");
  const reason = line.slice(0, 1000).trim() || "updates are frozen";
  process.stdout.write(`${JSON.stringify({ veto: true, reason })}\n`);
}
