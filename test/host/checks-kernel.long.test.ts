import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommand } from "./commands.ts";
import { checkCommand, parseOutcome, runCheck } from "./support/check.ts";
import { memoryLimit, processorLimit, withControlGroup } from "./support/control-group.ts";
import { eventually } from "./support/eventually.ts";
import { withFileLimit } from "./support/file-limit.ts";
import { recordKernelLines } from "./support/journal.ts";
import { provoke } from "./support/provoke.ts";
import { describeOnHost } from "./support/session.ts";

const megabyte = 2 ** 20;

/** Starts so many children and asks for none of them. */
const zombieMaker = (count: number): string =>
  `import subprocess, time; children = [subprocess.Popen(['true']) for _ in range(${count})]; time.sleep(3600)`;

/** What kernels print of software RAID, by what has become of it; after the kernel's own documentation of md. */
const arrays = {
  whole: ["md0 : active raid1 sdb1[1] sda1[0]", "      1048512 blocks super 1.2 [2/2] [UU]"],
  degraded: ["md0 : active raid1 sda1[0]", "      1048512 blocks super 1.2 [2/1] [U_]"],
  rebuilding: [
    "md0 : active raid1 sdb1[2] sda1[0]",
    "      1048512 blocks super 1.2 [2/1] [U_]",
    "      [==>..................]  recovery = 12.6% (132113/1048512) finish=0.1min speed=132113K/sec",
  ],
  none: [],
} as const;

describeOnHost("checks of processes and of the kernel's load", (session) => {
  const startZombies = (unit: string, count: number) =>
    session.host.exec(["systemd-run", "-q", `--unit=${unit}`, "python3", "-c", zombieMaker(count)]);

  provoke("zombie_processes", "6 and 26 children that nobody asks for, until their parents end", async (see) => {
    expect(see(await runCheck(session, "zombie_processes"))).toMatchObject({ status: "pass" });
    await startZombies("some-zombies", 6);
    await eventually(async () =>
      expect(see(await runCheck(session, "zombie_processes"))).toMatchObject({
        status: "warn",
        message: expect.stringMatching(/^6 zombie processes, left behind by python3/),
        details: { count: 6, parents: [{ name: "python3", zombies: 6 }] },
      }),
    );
    await startZombies("many-zombies", 20);
    await eventually(async () =>
      expect(see(await runCheck(session, "zombie_processes"))).toMatchObject({
        status: "fail",
        details: { count: 26 },
      }),
    );
    expect(await runCheck(session, "zombie_processes", { ignore: ["python3"] })).toMatchObject({ status: "pass" });
    await session.host.exec(["systemctl", "stop", "some-zombies", "many-zombies"]);
    await eventually(async () =>
      expect(see(await runCheck(session, "zombie_processes"))).toMatchObject({ status: "pass", details: { count: 0 } }),
    );
  });

  provoke("cpu_load", "a busy loop in a container with one processor, then none", async (see) => {
    await withControlGroup(session, processorLimit(1), async (group) => {
      const look = async () => see(parseOutcome(await group.execContained(checkCommand("cpu_load"))));
      // It ends by itself, should the test not end it.
      const busy = group.exec(["sh", "-c", "echo $$ > /run/busy; timeout 300 sh -c 'while :; do :; done'"]);
      await eventually(async () => expect(await look()).toMatchObject({ status: "fail" }), 120_000);
      await session.shell("pkill -P $(cat /run/busy); rm /run/busy");
      await busy;
      await eventually(async () => expect(await look()).toMatchObject({ status: "pass" }), 120_000);
    });
  });

  describe("memory", () => {
    provoke("memory", "a container of 1 GB filled to 90 % and to 97 %, then emptied", async (see) => {
      const limit = 1024 * megabyte;
      await session.shell("mkdir -p /mnt/filling && mount -t tmpfs none /mnt/filling");
      try {
        await withControlGroup(session, memoryLimit(limit), async (group) => {
          const look = async () => see(parseOutcome(await group.execContained(checkCommand("memory"))));
          const fill = async (percent: number): Promise<void> => {
            const megabytes = Math.round((limit * percent) / 100 / megabyte);
            const filled = await group.exec(["sh", "-c", `head -c ${megabytes}M /dev/zero > /mnt/filling/file`]);
            expect(filled).toMatchObject({ exitCode: 0 });
          };
          const empty = await look();
          expect(empty).toMatchObject({ status: "pass", details: { total_gb: 1.1 } });
          // What the check itself takes is in the group as well.
          const own = Number(empty.details["percent_used"]);
          await fill(90 - own);
          expect(await look()).toMatchObject({ status: "warn" });
          await fill(97 - own);
          expect(await look()).toMatchObject({ status: "fail" });
          await session.shell("rm /mnt/filling/file");
          expect(await look()).toMatchObject({ status: "pass" });
        });
      } finally {
        await session.shell("umount /mnt/filling");
      }
    });

    provoke("memory", "a tmpfs that takes more of the machine than settings allow", async (see) => {
      const { status, details } = see(await runCheck(session, "memory"));
      expect(status).toBe("pass");
      const before = Number(details["percent_used"]);
      const totalBytes = Number(details["total_gb"]) * 1e9;
      const settings = { warn: before + 5, fail: before + 6 };
      await session.shell("mkdir -p /mnt/taken && mount -t tmpfs none /mnt/taken");
      try {
        // Much more than the distance, since others on the machine may give a tenth of its memory back meanwhile.
        const megabytes = Math.ceil((totalBytes * 0.16) / 1e6);
        await session.shell(`head -c ${megabytes}M /dev/zero > /mnt/taken/file`);
        expect(see(await runCheck(session, "memory", settings))).toMatchObject({ status: "fail" });
      } finally {
        await session.shell("umount /mnt/taken");
      }
      await eventually(async () =>
        expect(see(await runCheck(session, "memory", settings))).toMatchObject({ status: "pass" }),
      );
    });
  });

  /** Runs the work with a swap file on this machine, whose kernel is the guest's; it goes whatever happens. */
  const withSwap = async (megabytes: number, work: () => Promise<void>): Promise<void> => {
    const dir = mkdtempSync(join(tmpdir(), "steward-swap-"));
    const file = join(dir, "swap");
    try {
      await runCommand(["dd", "if=/dev/zero", `of=${file}`, "bs=1M", `count=${megabytes}`, "status=none"]);
      await runCommand(["chmod", "600", file]);
      await runCommand(["mkswap", file]);
      await runCommand(["swapon", file]);
      try {
        await work();
      } finally {
        await runCommand(["swapoff", file]);
      }
    } finally {
      rmSync(dir, { recursive: true });
    }
  };

  provoke(
    "swap_usage",
    "a swap file of 192 MB into which a group with little memory overflows, read again and again, then none",
    async (see) => {
      const others = await session.shell("tail -n +2 /proc/swaps");
      expect(others, "this machine must have no swap of its own (swapoff -a)").toBe("");
      expect(see(await runCheck(session, "swap_usage"))).toMatchObject({ status: "skip" });
      await withSwap(192, async () => {
        expect(see(await runCheck(session, "swap_usage"))).toMatchObject({
          status: "pass",
          details: { percent_used: 0, total_gb: 0.201 },
        });
        await session.shell("mkdir -p /mnt/overflowing && mount -t tmpfs none /mnt/overflowing");
        try {
          await withControlGroup(session, memoryLimit(16 * megabyte), async (group) => {
            const overflow = (megabytes: number) =>
              group.exec(["sh", "-c", `head -c ${megabytes}M /dev/urandom >> /mnt/overflowing/file`]);
            /** Has the group read what it has written, most of which is in swap, while the check looks. */
            const whileRead = async (found: object) => {
              const stop = new AbortController();
              const reads = (async () => {
                while (!stop.signal.aborted) await group.exec(["cat", "/mnt/overflowing/file"]);
              })();
              try {
                await eventually(async () => expect(see(await runCheck(session, "swap_usage"))).toMatchObject(found));
              } finally {
                stop.abort();
                await reads;
              }
            };
            expect(await overflow(144)).toMatchObject({ exitCode: 0 });
            expect(await runCheck(session, "swap_usage")).toMatchObject({
              status: "pass",
              message: expect.stringMatching(/^[67]\d(\.\d)? % of swap is used: .* left, and next to nothing moves/),
            });
            await whileRead({
              status: "warn",
              message: expect.stringMatching(/^[67]\d(\.\d)? % of swap is used: .* of 192 MiB left$/),
            });
            expect(await overflow(50)).toMatchObject({ exitCode: 0 });
            await whileRead({ status: "fail" });
            await session.shell("rm /mnt/overflowing/file");
            expect(see(await runCheck(session, "swap_usage"))).toMatchObject({ status: "pass" });
          });
        } finally {
          await session.shell("umount /mnt/overflowing");
        }
      });
      expect(see(await runCheck(session, "swap_usage"))).toMatchObject({ status: "skip" });
    },
  );

  provoke("pressure", "two busy loops for each processor", async (see) => {
    const units = Array.from({ length: 2 * availableParallelism() }, (_, at) => `waiting-${at}.service`);
    for (const unit of units)
      await session.host.exec(["systemd-run", "-q", `--unit=${unit}`, "sh", "-c", "while :; do :; done"]);
    await eventually(async () =>
      expect(see(await runCheck(session, "pressure", { warn: 5, fail: 10, ignore: ["memory", "io"] }))).toMatchObject({
        status: "fail",
        message: expect.stringMatching(/^In the last minutes some task waited for a processor [\d.]+ % of the time$/),
      }),
    );
    await session.host.exec(["systemctl", "stop", ...units]);
  });

  describe("oom_kills", () => {
    /** Lets a process ask for more than its group has. @returns what the kernel said of it, word for word. */
    const outgrow = async (): Promise<readonly string[]> => {
      let lines: readonly string[] = [];
      await withControlGroup(session, memoryLimit(48 * megabyte), async (group) => {
        const { exitCode } = await group.exec(["leaky", "-c", "memory = bytearray(256 << 20)"]);
        expect(exitCode).not.toBe(0);
        const said = (await runCommand(["dmesg", "--notime", "--color=never"])).stdout.split("\n");
        const pid = said
          .filter((line) => line.startsWith("oom-kill:") && line.includes(`oom_memcg=${group.path},`))
          .map((line) => /,task=leaky,pid=(\d+),/.exec(line)?.[1])
          .at(-1);
        expect(pid).toBeDefined();
        lines = said.filter((line) => line.includes(`pid=${pid},`) || line.includes(`Killed process ${pid} (leaky)`));
      });
      return lines;
    };

    provoke(
      "oom_kills",
      "processes killed in a group with too little memory, the kernel's own lines put into the journal; 25 hours later",
      async (see) => {
        const check = () => session.api.getCheck({ params: { check_id: "oom_kills" } });
        await session.host.exec(["cp", "/usr/bin/python3", "/usr/local/bin/leaky"]);
        expect(see(await check())).toMatchObject({ status: "pass", details: { count: 0 } });
        await recordKernelLines(session, "first", await outgrow());
        await eventually(async () =>
          expect(see(await check())).toMatchObject({
            status: "warn",
            message: "The OOM killer killed leaky (1 kill in 24 h)",
            details: { kills: [{ process: "leaky" }] },
          }),
        );
        const more = [];
        for (let times = 0; times < 4; times += 1) more.push(...(await outgrow()));
        await recordKernelLines(session, "more", more);
        await eventually(async () =>
          expect(see(await check())).toMatchObject({ status: "fail", details: { count: 5 } }),
        );
        expect(await runCheck(session, "oom_kills")).toMatchObject({ status: "fail", details: { count: 5 } });
        expect(await runCheck(session, "oom_kills", { ignore: ["leak*"] })).toMatchObject({ status: "pass" });
        const dayLater = { aheadMs: 25 * 3_600_000 };
        expect(see(await runCheck(session, "oom_kills", dayLater))).toMatchObject({ status: "pass" });
      },
    );
  });

  provoke(
    "file_descriptors",
    "40 000 files held open under a limit that leaves a fifth and a fourteenth free, then closed",
    async (see) => {
      const now = async () => see(await runCheck(session, "file_descriptors"));
      const used = async (): Promise<number> => Number((await now()).details["used"]);
      const before = await now();
      expect(before).toMatchObject({ status: "pass" });
      const held = 40_000;
      const program = "import time; files = [open('/dev/null') for _ in range(8000)]; time.sleep(3600)";
      const holders = [1, 2, 3, 4, 5].map((number) => `holder-${number}`);
      await withFileLimit(async ({ lower }) => {
        for (const unit of holders) {
          const options = ["-q", `--unit=${unit}`, "-p", "LimitNOFILE=20000"];
          await session.host.exec(["systemd-run", ...options, "python3", "-c", program]);
        }
        await eventually(async () => expect(await used()).toBeGreaterThan(held));
        lower(Math.round((await used()) / 0.8));
        expect(await now()).toMatchObject({ status: "warn", message: expect.stringMatching(/^(79|80|81)/) });
        lower(Math.round((await used()) / 0.93));
        expect(await now()).toMatchObject({ status: "fail" });
        await session.host.exec(["systemctl", "stop", ...holders]);
        await eventually(async () => expect(await now()).toMatchObject({ status: "pass" }));
      });
      expect((await now()).details["maximum"]).toBe(before.details["maximum"]);
    },
  );

  provoke(
    "raid_status",
    "a mirror that is whole, has lost a device, is rebuilt, and none, as kernels told of them",
    async (see) => {
      for (const [state, status] of [
        ["whole", "pass"],
        ["degraded", "fail"],
        ["rebuilding", "warn"],
        ["none", "skip"],
      ] as const) {
        const text = ["Personalities : [raid1]", ...arrays[state], "", "unused devices: <none>", ""].join("\n");
        await session.host.writeFile("/root/proc/mdstat", text);
        expect(see(await runCheck(session, "raid_status", { procDir: "/root/proc" }))).toMatchObject({ status });
      }
    },
  );

  it("RAID arrays that the host does not have are skipped", async () => {
    const found = await session.shell("grep -c '^md' /proc/mdstat 2>/dev/null || true");
    expect((await runCheck(session, "raid_status")).status === "skip").toBe(Number(found) === 0);
  });
});
