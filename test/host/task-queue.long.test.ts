import { beforeAll, expect, it } from "vitest";
import { describeOnHost } from "./support/session.ts";

const asks = "/run/steward-service/asks";
const answers = "/run/steward-tasks";
const node = "/opt/steward/node_modules/.bin/node";
/** As many as root's side works on, and the one whose turn is next. */
const mostPrograms = 5;
const started = 40;
const id = (number: number): string => `ask-${number.toString(16).padStart(32, "0")}`;

/** Prints the most programs of root's side that ran at the same time, what they held in memory, and how many waited their turn. */
const sampler = `
const { readdirSync, readFileSync } = require("node:fs");
const text = (path) => { try { return readFileSync(path, "utf8"); } catch { return ""; } };
const most = { programs: 0, rssMiB: 0, pssMiB: 0, waiting: 0 };
// A process that is about to become another program is still called like its parent, which is not the first process.
const kindOf = (pid) => {
  const words = text("/proc/" + pid + "/cmdline").split("\\0");
  if (!words.includes("--asked-by") || !/^PPid:\\s+1$/m.test(text("/proc/" + pid + "/status"))) return undefined;
  return words[0].endsWith("flock") ? "waiting" : "program";
};
const sum = (pids, name) => {
  const kib = pids.map((pid) => Number(new RegExp("^" + name + ":\\\\s+(\\\\d+)", "m").exec(text("/proc/" + pid + "/smaps_rollup"))?.[1] ?? 0));
  return Math.round(kib.reduce((all, each) => all + each, 0) / 1024);
};
const look = () => {
  const pids = readdirSync("/proc").filter((name) => /^\\d+$/.test(name));
  const before = pids.map((pid) => [pid, kindOf(pid)]).filter(([, kind]) => kind !== undefined);
  // What is the same in a second pass was so at the same moment between the two.
  const both = before.filter(([pid, kind]) => kindOf(pid) === kind);
  const of = (kind) => both.filter(([, each]) => each === kind).map(([pid]) => pid);
  most.programs = Math.max(most.programs, of("program").length);
  most.waiting = Math.max(most.waiting, of("waiting").length);
  const all = both.map(([pid]) => pid);
  most.rssMiB = Math.max(most.rssMiB, sum(all, "Rss"));
  most.pssMiB = Math.max(most.pssMiB, sum(all, "Pss"));
};
const timer = setInterval(look, 20);
process.stdin.on("end", () => { clearInterval(timer); console.log(JSON.stringify(most)); }).resume();
`;

interface Most {
  readonly programs: number;
  readonly waiting: number;
  readonly rssMiB: number;
  readonly pssMiB: number;
}

describeOnHost("the queue of root's tasks", (session) => {
  const asSteward = (line: string) => session.host.exec(["sh", "-ec", line], { user: "steward", timeoutMs: 120_000 });

  beforeAll(async () => {
    // What root's side works on for a while.
    await session.host.writeFile(
      "/etc/steward/config.yaml",
      "health: { checks: { slow: { command: [/bin/sleep, '4'], user: root } } }\n",
    );
    await session.service.restart();
    await asSteward(`mkdir -p -m 700 ${asks}`);
  });

  it("has few programs run, however many tasks are started at once", async () => {
    const request = JSON.stringify({ ask: "monitoring.run", input: { check_id: "slow" } });
    const ids = Array.from({ length: started }, (_, at) => id(at));
    await asSteward(`umask 077; for id in ${ids.join(" ")}; do printf %s '${request}' > ${asks}/$id.json; done`);
    const units = ids.map((each) => `steward-task@${each}.service`).join(" ");
    // All are asked for without waiting, as a program can; the sampler looks until each has been answered.
    const line = [
      `systemctl start --no-ask-password --no-block ${units}`,
      `for _ in $(seq 600); do [ "$(ls ${answers} | grep -c "^ask-0000")" -lt ${started} ] || break; sleep 0.2; done`,
    ].join("; ");
    const { stdout } = await session.host.exec(
      ["sh", "-c", `{ runuser -u steward -- sh -c '${line}'; } 2>&1 >/dev/null | ${node} -e '${sampler}'`],
      { timeoutMs: 240_000 },
    );
    const most = JSON.parse(stdout) as Most;
    process.stdout.write(`${started} tasks at once: ${JSON.stringify(most)}\n`);
    expect(most.programs).toBeGreaterThan(0);
    expect(most.programs).toBeLessThanOrEqual(mostPrograms);
    // Each had its turn in the end: none was told that there is too much to do.
    const texts = await Promise.all(ids.map((each) => session.host.readFile(`${answers}/${each}.json`)));
    expect(texts.map((text) => Object.keys(JSON.parse(text) as object))).toEqual(ids.map(() => ["output"]));
  }, 300_000);
});
