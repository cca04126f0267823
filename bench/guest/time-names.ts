import { spawnSync } from "node:child_process";
import { median } from "../harness.ts";

/** Runs inside the test host: `time-names.ts COUNT PROGRAM ARGUMENT ...`. The command prints a line for each name. */
const [, , count = "1", program = "", ...args] = process.argv;

const times: number[] = [];
let listed = 0;
for (let index = 0; index < Number(count); index += 1) {
  const startedAt = performance.now();
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  times.push(performance.now() - startedAt);
  if (status !== 0) throw new Error(`cannot run ${program}: ${stderr}`);
  listed = stdout.split("\n").length - 1;
  if (listed === 0) throw new Error(`cannot time ${program}: it names nothing`);
}
console.log(JSON.stringify({ medianMs: median(times), listed, total: listed }));
