import { runCommand } from "../../commands.ts";
import { withControlGroup } from "../control-group.ts";
import { recordKernelLines } from "../journal.ts";
import { type Fault, leads, seen, start, stop, writeDaemon } from "./fault.ts";

const megabyte = 2 ** 20;
const takesMemory = "import time\nheld = bytearray(600 << 20)\ntime.sleep(10000)\n";
const takesProcessor = "while True: pass\n";
const leavesZombies = `
import os, time
for _ in range(8):
    if os.fork() == 0:
        os._exit(0)
time.sleep(10000)
`;
const leaksFiles = `
import time
held = []
try:
    while True:
        held.append(open("/etc/hostname"))
except OSError as error:
    print("accept:", error.strerror, flush=True)
    held.pop()
time.sleep(10000)
`;
const floods = `
for n in range(60000):
    print("poll", n, "nothing new on the shelf that is next to the door of the store", flush=True)
import time
time.sleep(10000)
`;

export const processFaults: readonly Fault[] = [
  {
    name: "memory-taken",
    what: "a process takes much memory",
    check: "memory",
    found: /of memory is used/,
    cause: "the process reporter of reporter.service",
    evidence: { "Processes that use most memory": /^reporter\[\d+\] of reporter\.service/m },
    async provoke(session) {
      await writeDaemon(session, "reporter", takesMemory);
      await start(session, "reporter.service");
      await leads(session, "reporter", "memory");
    },
    repair: stop("reporter.service"),
  },
  {
    name: "processor-taken",
    what: "a process never waits",
    check: "cpu_load",
    found: /busy/,
    cause: "the process indexer of indexer.service",
    evidence: { "Processes that use most of the processors": /^indexer\[\d+\] of indexer\.service/m },
    async provoke(session) {
      await writeDaemon(session, "indexer", takesProcessor, ["Nice=10"]);
      await start(session, "indexer.service");
      await leads(session, "indexer", "cpu");
    },
    repair: stop("indexer.service"),
  },
  {
    name: "killed-for-memory",
    what: "the OOM killer kills a process that has grown over its limit",
    check: "oom_kills",
    found: /leaky/,
    cause: "the process leaky, and the line of the kernel about it",
    evidence: { "Result of the check": /"process":"leaky"/, Journal: /kernel.* Killed process \d+ \(leaky\)/ },
    async provoke(session) {
      await session.host.exec(["cp", "/usr/bin/python3", "/usr/local/bin/leaky"]);
      await withControlGroup(session, 48 * megabyte, async (group) => {
        await group.exec(["leaky", "-c", "memory = bytearray(256 << 20)"]);
        const said = (await runCommand(["dmesg", "--notime", "--color=never"])).stdout.split("\n");
        const pid = said
          .filter((line) => line.startsWith("oom-kill:") && line.includes(`oom_memcg=${group.path},`))
          .map((line) => /,task=leaky,pid=(\d+),/.exec(line)?.[1])
          .at(-1);
        if (pid === undefined) throw new Error("the kernel has killed nothing");
        await recordKernelLines(
          session,
          "oom",
          said.filter((line) => line.includes(`pid=${pid},`) || line.includes(`Killed process ${pid} (leaky)`)),
        );
      });
    },
    repair: () => Promise.resolve(),
  },
  {
    name: "files-leaked",
    what: "a process opens files until it may open no more",
    check: "file_descriptors",
    found: /gateway/,
    cause: "the process gateway of gateway.service, and its line: Too many open files",
    evidence: {
      "Processes that the check names": /^gateway\[\d+\] of gateway\.service/m,
      Journal: /gateway\.service .*accept: Too many open files/,
    },
    async provoke(session) {
      await writeDaemon(session, "gateway", leaksFiles, ["LimitNOFILE=128"]);
      await start(session, "gateway.service");
      await seen(session, "gateway");
    },
    repair: stop("gateway.service"),
  },
  {
    name: "zombies-left",
    what: "a process does not wait for its children",
    check: "zombie_processes",
    found: /spawner/,
    cause: "the process spawner of spawner.service",
    evidence: { "Processes that the check names": /^spawner\[\d+\] of spawner\.service/m },
    async provoke(session) {
      await writeDaemon(session, "spawner", leavesZombies);
      await start(session, "spawner.service");
      await seen(session, "spawner");
    },
    repair: stop("spawner.service"),
  },
  {
    name: "journal-flooded",
    what: "a service writes line after line into the journal",
    check: "journal_size",
    found: /journal takes/,
    cause: "poller.service writes most of the entries",
    evidence: { "Units with most entries in the journal": /^poller\.service: \d+ entries/m },
    async provoke(session) {
      await writeDaemon(session, "poller", floods, ["LogRateLimitIntervalSec=0"]);
      await start(session, "poller.service");
    },
    repair: stop("poller.service"),
  },
];
