import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import { installedPrograms } from "./program.ts";
import { describeOnHost } from "./support/session.ts";

const directory = "/etc/steward/plugins";
const examples = fileURLToPath(new URL("../../examples/plugins", import.meta.url));
/** A program without libraries of its own, so that a copy of this machine's runs on the host. */
const restic = "/usr/bin/restic";
if (!existsSync(restic)) process.stdout.write("skipped: an example plugin with restic: apt-get install restic\n");
const words = (line: string): readonly string[] => line.split(" ");

describeOnHost("plugins from the command line", (session) => {
  const run = async (argv: readonly string[], input?: string) => {
    const environment = ["env", `STEWARD_URL=${session.service.url}`, `STEWARD_API_KEY=${session.service.adminKey}`];
    const given = input === undefined ? [] : ["sh", "-c", 'printf %s "$1" | { shift; "$@"; }', "-", input];
    const command = [...environment, ...given, ...installedPrograms, ...argv];
    const { stdout, stderr, exitCode } = await session.host.exec(command, { allowFailure: true });
    return { code: exitCode, stdout, stderr };
  };
  const steward = (line: string) => run(words(line));

  beforeAll(async () => {
    await session.shell(`mkdir -p ${directory}`);
    for (const name of readdirSync(examples)) {
      for (const file of readdirSync(join(examples, name))) {
        const path = join(examples, name, file);
        await session.host.writeFile(
          `${directory}/${name}/${file}`,
          readFileSync(path, "utf8"),
          statSync(path).mode & 0o777,
        );
      }
      await session.shell(`chmod 755 ${directory}/${name}`);
    }
  });

  it("backup-age reads backups that only root may read", async () => {
    await session.shell("mkdir -p /srv/backup/db && chmod 700 /srv/backup");
    expect(await steward("plugins enable backup-age --yes")).toMatchObject({ code: 0, stderr: "" });
    expect(await steward("check backup-age")).toMatchObject({ code: 1, stdout: expect.stringContaining("0 files") });
    await session.shell("umask 077; head -c 3000 /dev/zero > /srv/backup/db/a.dump");
    await session.shell("touch -d '3 hours ago' /srv/backup/db/a.dump");
    const result = await session.api.getCheck({ params: { check_id: "backup-age" } });
    expect(result).toMatchObject({
      status: "pass",
      severity: "high",
      message: expect.stringMatching(/the newest of 1 files, db\/a\.dump, is 3 h old/),
      details: { perfdata_malformed: 0 },
    });
    await session.shell("touch -d '3 days ago' /srv/backup/db/a.dump");
    expect(await steward("check backup-age")).toMatchObject({ code: 1, stdout: expect.stringContaining("is 3 d old") });
  });

  it.skipIf(!existsSync(restic) && process.env["CI"] !== "true")(
    "backup-repository reads a repository and a password that only root may read, and writes nothing",
    async () => {
      copyFileSync(restic, join(session.host.root, restic));
      const files = "--repo /srv/restic --password-file /etc/steward/backup-password";
      await session.host.writeFile("/etc/steward/backup-password", "correct horse\n", 0o600);
      await session.shell(`umask 077; restic init ${files}`);
      const digest = async () => session.shell("cd /srv/restic && find . -type f | sort | xargs sha256sum");
      const before = await digest();
      expect(await steward("plugins enable backup-repository --yes")).toMatchObject({ code: 0, stderr: "" });
      const check = () => session.api.getCheck({ params: { check_id: "backup-repository" } });
      expect(await check()).toMatchObject({ status: "fail", message: expect.stringContaining("0 snapshots in") });
      expect(await digest()).toBe(before);
      const backUp = (hours: number) =>
        session.shell(
          `umask 077; restic backup ${files} --time "$(date -d '${hours} hours ago' '+%F %T')" /etc/hostname`,
        );
      await backUp(30);
      expect(await check()).toMatchObject({ status: "warn", message: expect.stringContaining("is 30 h old") });
      await backUp(3);
      expect(await check()).toMatchObject({
        status: "pass",
        message: expect.stringMatching(/the newest of 2 snapshots in \/srv\/restic is 3 h old/),
        details: { perfdata_malformed: 0 },
      });
      await session.host.writeFile("/etc/steward/backup-password", "battery staple\n", 0o600);
      expect(await check()).toMatchObject({ status: "fail", message: expect.stringContaining("wrong password") });
    },
  );
});
