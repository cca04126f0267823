import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { runCheck } from "./support/check.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

/** Starts so many children and asks for none of them. */
const zombieMaker = (count: number): string =>
  `import subprocess, time; children = [subprocess.Popen(['true']) for _ in range(${count})]; time.sleep(3600)`;

describeOnHost("checks of processes and of the kernel's load", (session) => {
  const startZombies = (unit: string, count: number) =>
    session.host.exec(["systemd-run", "-q", `--unit=${unit}`, "python3", "-c", zombieMaker(count)]);

  describe("zombie_processes", () => {
    it("warns at five, fails at twenty, names the parent, and passes when that has ended", async () => {
      expect(await runCheck(session, "zombie_processes")).toMatchObject({ status: "pass" });
      await startZombies("some-zombies", 6);
      await eventually(async () =>
        expect(await runCheck(session, "zombie_processes")).toMatchObject({
          status: "warn",
          message: expect.stringMatching(/^6 zombie processes, left behind by python3/),
          details: { count: 6, parents: [{ name: "python3", zombies: 6 }] },
        }),
      );
      await startZombies("many-zombies", 20);
      await eventually(async () =>
        expect(await runCheck(session, "zombie_processes")).toMatchObject({ status: "fail", details: { count: 26 } }),
      );
      expect(await runCheck(session, "zombie_processes", { ignore: ["python3"] })).toMatchObject({ status: "pass" });
      await session.host.exec(["systemctl", "stop", "some-zombies", "many-zombies"]);
      await eventually(async () =>
        expect(await runCheck(session, "zombie_processes")).toMatchObject({ status: "pass", details: { count: 0 } }),
      );
    });
  });

  describe("cpu_load", () => {
    it("fails while every processor works and passes afterwards", async () => {
      const units = Array.from({ length: availableParallelism() }, (_, at) => `busy-${at}.service`);
      for (const unit of units) {
        await session.host.exec(["systemd-run", "-q", `--unit=${unit}`, "sh", "-c", "while :; do :; done"]);
      }
      await eventually(
        async () => expect(await runCheck(session, "cpu_load")).toMatchObject({ status: "fail" }),
        30_000,
      );
      await session.host.exec(["systemctl", "stop", ...units]);
      // The machine has other work, too.
      await eventually(
        async () => expect(await runCheck(session, "cpu_load")).toMatchObject({ status: "pass" }),
        90_000,
      );
    });
  });

  describe("memory", () => {
    it("passes with room, and fails when a tmpfs takes more than settings allow", async () => {
      const { status, details } = await runCheck(session, "memory");
      expect(status).toBe("pass");
      const before = Number(details["percent_used"]);
      const totalBytes = Number(details["total_gb"]) * 1e9;
      const settings = { warn: before + 4, fail: before + 5 };
      await session.shell("mkdir -p /mnt/taken && mount -t tmpfs none /mnt/taken");
      try {
        // More than the distance, since others on the machine may give memory back meanwhile.
        const megabytes = Math.ceil((totalBytes * 0.08) / 1e6);
        await session.shell(`head -c ${megabytes}M /dev/zero > /mnt/taken/file`);
        expect(await runCheck(session, "memory", settings)).toMatchObject({ status: "fail" });
      } finally {
        await session.shell("umount /mnt/taken");
      }
      await eventually(async () =>
        expect(await runCheck(session, "memory", settings)).toMatchObject({ status: "pass" }),
      );
    });
  });

  describe("file_descriptors", () => {
    it("counts what a program holds open", async () => {
      const usedNow = async () => {
        const { status, details } = await runCheck(session, "file_descriptors");
        // The limit is that of the machine's kernel, far away and not ours to lower.
        expect(status).toBe("pass");
        return Number(details["used"]);
      };
      const before = await usedNow();
      const program = "import time; files = [open('/dev/null') for _ in range(8000)]; time.sleep(3600)";
      const limit = "LimitNOFILE=10000";
      await session.host.exec(["systemd-run", "-q", "--unit=holder", "-p", limit, "python3", "-c", program]);
      await eventually(async () => expect(await usedNow()).toBeGreaterThan(before + 5_000));
      await session.host.exec(["systemctl", "stop", "holder"]);
      await eventually(async () => expect(await usedNow()).toBeLessThan(before + 5_000));
    });
  });

  it("skip what the host does not have", async () => {
    const swaps = await session.shell("tail -n +2 /proc/swaps");
    expect((await runCheck(session, "swap_usage")).status === "skip").toBe(swaps === "");
    const arrays = await session.shell("grep -c '^md' /proc/mdstat 2>/dev/null || true");
    expect((await runCheck(session, "raid_status")).status === "skip").toBe(Number(arrays) === 0);
  });
});
