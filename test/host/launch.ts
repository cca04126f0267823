// Turns itself into the container: `node launch.ts RECORD CGROUP COMMAND…`. Because the record is written under the number
// that the container keeps, there is no time at which a guest runs that a later sweep could not find.
import { renameSync, writeFileSync } from "node:fs";
import { enterCgroup, machineRunsSystemd } from "./cgroups.ts";
import { ownProcess } from "./processes.ts";

const [record, cgroup, ...command] = process.argv.slice(2);
if (record === undefined || cgroup === undefined || command.length === 0) {
  throw new Error("cannot launch a guest: usage is launch.ts RECORD CGROUP COMMAND…");
}
if (process.execve === undefined)
  throw new Error("cannot launch a guest: this Node has no process.execve (use 22.15 or later)");
if (!machineRunsSystemd()) enterCgroup(cgroup);
writeFileSync(`${record}.new`, JSON.stringify(ownProcess()));
renameSync(`${record}.new`, record);
process.execve("/usr/bin/env", ["env", ...command], process.env);
