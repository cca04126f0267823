import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pluginLanguages } from "#cli/commands/plugins/scaffold.ts";
import { pluginTypes } from "#contract/plugins.ts";
import { installedPrograms } from "./program.ts";
import { eventually } from "./support/eventually.ts";
import { copyPrograms, whyNoCopy } from "./support/machine-packages.ts";
import { describeOnHost } from "./support/session.ts";

const folder = "/etc/steward/plugins";
const examples = fileURLToPath(new URL("../../examples/plugins", import.meta.url));
/** A program without libraries of its own, so that a copy of this machine's runs on the host. */
const restic = "/usr/bin/restic";
if (!existsSync(restic)) process.stdout.write("skipped: an example plugin with restic: apt-get install restic\n");
const borgPackages = ["borgbackup", "python3-msgpack", "python3-packaging", "python3-pkg-resources"];
const whyNoBorg = whyNoCopy(borgPackages);
if (whyNoBorg !== undefined) process.stdout.write(`skipped: an example plugin with borg: ${whyNoBorg}\n`);
const words = (line: string): readonly string[] => line.split(" ");

/** Messages that a chat got. */
const posts: unknown[] = [];
const chat = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    posts.push(JSON.parse(Buffer.concat(chunks).toString()));
    response.end("ok");
  });
});

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
    await new Promise<void>((resolve) => chat.listen(0, "127.0.0.1", resolve));
    await session.shell(`mkdir -p ${folder}`);
    // As where Node is installed for everybody; a checkout may belong to anybody.
    await session.shell("install -m 755 /opt/steward/node_modules/.bin/node /usr/local/bin/node");
    for (const name of readdirSync(examples)) {
      for (const file of readdirSync(join(examples, name))) {
        const path = join(examples, name, file);
        await session.host.writeFile(
          `${folder}/${name}/${file}`,
          readFileSync(path, "utf8"),
          statSync(path).mode & 0o777,
        );
      }
      await session.shell(`chmod 755 ${folder}/${name}`);
    }
  });
  afterAll(() => {
    chat.closeAllConnections();
    chat.close();
  });

  describe("made with plugins new", () => {
    it.each(pluginLanguages)("in %s: each type is valid, enabled and does its work", async (language) => {
      for (const type of pluginTypes) {
        const name = `${type}-${language}`;
        const options = `--type ${type} --lang ${language} --dir ${folder}`;
        expect(await steward(`plugins new ${name} ${options}`)).toMatchObject({ code: 0, stderr: "" });
        expect(await steward(`plugins validate ${folder}/${name}`)).toMatchObject({ code: 0, stderr: "" });
        expect(await steward(`plugins enable ${name} --yes`)).toMatchObject({ code: 0, stderr: "" });
      }
      expect(await steward(`check check-${language}`)).toEqual({
        code: 0,
        stdout: expect.stringMatching(`check-${language} pass: .* entries in /var/spool`),
        stderr: "",
      });
      const told = await steward(`command-${language} --json`);
      expect(told).toMatchObject({ code: 0, stderr: "" });
      const host = (await session.shell("uname -n")).trim();
      expect(JSON.parse(told.stdout)).toMatchObject({ host });
      expect(await steward(`command-${language} --nonsense`)).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining(`usage: command-${language}`),
      });

      const update = () => session.api.applyUpdates({ body: { type: "packages" } });
      await session.shell("echo 'end of quarter' > /etc/update-freeze");
      await expect(update()).rejects.toMatchObject({ details: { hook: `hook-${language}`, reason: "end of quarter" } });
      await session.shell("rm /etc/update-freeze");

      for (const type of pluginTypes) await steward(`plugins disable ${type}-${language}`);
      expect(await steward(`command-${language}`)).toEqual({
        code: 2,
        stdout: "",
        stderr: `steward: the plugin command-${language} is not enabled: steward plugins enable command-${language}\n`,
      });
    });
  });

  it("are listed, and told from words that are nothing", async () => {
    const { code, stdout } = await steward("plugins");
    expect(code).toBe(0);
    expect(stdout).toMatch(/backup-age\s+1\.0\.0\s+check\s+disabled\s+reads \/srv\/backup/);
    await steward("plugins enable certificates --yes");
    expect(await steward("certificate")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("(Did you mean certificates?)"),
    });
  });

  it("backup-age inspects backups that root alone may read", async () => {
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
    "backup-repository reads a repository and a password that are root's alone, and writes nothing",
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

  it.skipIf(whyNoBorg !== undefined)(
    "backup-repository, copied for a repository of borg, reads it also while it is locked, and writes nothing",
    async () => {
      await copyPrograms(session.host, borgPackages);
      const copy = "backup-borg";
      const original = join(examples, "backup-repository");
      const manifest = readFileSync(join(original, "plugin.yaml"), "utf8")
        .replace("name: backup-repository", `name: ${copy}`)
        .replace("--restic, /srv/restic", "--borg, /srv/borg")
        .replaceAll("backup-password", "borg-password")
        .replace("read: [/srv/restic", "read: [/srv/borg");
      await session.host.writeFile(`${folder}/${copy}/plugin.yaml`, manifest);
      await session.host.writeFile(
        `${folder}/${copy}/check.py`,
        readFileSync(join(original, "check.py"), "utf8"),
        0o755,
      );
      await session.shell(`chmod 755 ${folder}/${copy}`);
      await session.host.writeFile("/etc/steward/borg-password", "correct horse\n", 0o600);
      const variables = ["BORG_PASSPHRASE=correct horse", "BORG_BASE_DIR=/root/borg", "TZ=UTC"];
      const borg = (...argv: readonly string[]) =>
        session.host.exec(["sh", "-c", 'umask 077; exec env "$@"', "-", ...variables, "borg", ...argv]);
      await borg("init", "--encryption=repokey", "/srv/borg");
      const digest = () =>
        session.shell("cd /srv/borg && find . -type f | sort | xargs sha256sum; stat -c '%Y %n' . *");
      const check = () => session.api.getCheck({ params: { check_id: copy } });

      let before = await digest();
      expect(await steward(`plugins enable ${copy} --yes`)).toMatchObject({ code: 0, stderr: "" });
      expect(await check()).toMatchObject({ status: "fail", message: expect.stringContaining("0 snapshots in") });
      expect(await digest()).toBe(before);
      const backUp = async (hours: number) => {
        const time = (await session.shell(`date --utc --date='${hours} hours ago' +%FT%T`)).trim();
        await borg("create", "--timestamp", time, `/srv/borg::daily-${hours}`, "/etc/hostname");
      };
      await backUp(30);
      expect(await check()).toMatchObject({ status: "warn", message: expect.stringContaining("is 30 h old") });
      await backUp(3);
      before = await digest();
      const good = {
        status: "pass",
        message: expect.stringMatching(/the newest of 2 snapshots in \/srv\/borg is 3 h old/),
        details: expect.objectContaining({ perfdata_malformed: 0 }),
      };
      expect(await check()).toMatchObject(good);
      expect(await digest()).toBe(before);

      const holder = variables.map((variable) => `--setenv=${variable}`);
      const hold = ["--unit=holder", ...holder, "borg", "with-lock", "/srv/borg", "sleep", "infinity"];
      await session.host.exec(["systemd-run", ...hold]);
      await eventually(() => session.shell("test -e /srv/borg/lock.exclusive"));
      expect(await check()).toMatchObject(good);
      await session.host.exec(["systemctl", "stop", "holder.service"]);

      await session.host.writeFile("/etc/steward/borg-password", "battery staple\n", 0o600);
      expect(await check()).toMatchObject({
        status: "fail",
        message: expect.stringMatching(/passphrase .* is incorrect/),
      });
    },
  );

  it("certificates finds those in folders that are root's alone, and reports what it cannot see", async () => {
    await session.shell("mkdir -p /etc/letsencrypt/live/a.example && chmod 700 /etc/letsencrypt/live");
    await session.shell(
      "cd /etc/letsencrypt/live/a.example && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout privkey.pem -subj /CN=a.example -days 9 -out fullchain.pem 2>&1",
    );
    expect((await steward("plugins enable certificates --yes")).code).toBe(0);
    const { code, stdout, stderr } = await steward("certificates --json");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const path = "/etc/letsencrypt/live/a.example/fullchain.pem";
    const { certificates } = JSON.parse(stdout) as { certificates: object[] };
    expect(certificates).toContainEqual(expect.objectContaining({ names: ["a.example"], days_left: 8, paths: [path] }));
    expect((await steward("certificates --days 5")).stdout).toMatch(/^good +8 +\S+ +a\.example +itself +/m);
    expect(await steward("certificates /var/log")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("/var/log: "),
    });
  });

  it("a command gets what is on standard input", async () => {
    const manifest = ["name: upper", "version: 1.0.0", "type: command", "exec: upper"];
    await session.host.writeFile(`${folder}/upper/plugin.yaml`, `${manifest.join("\n")}\n`);
    await session.host.writeFile(`${folder}/upper/upper`, '#!/bin/sh\ntr a-z A-Z\necho "$@" >&2\nexit 9\n', 0o755);
    await session.shell(`chmod 755 ${folder}/upper`);
    expect(await steward("plugins enable upper --yes")).toMatchObject({ code: 0, stderr: "" });
    expect(await run(["upper", "--url", "a b"], "some text\n")).toEqual({
      code: 9,
      stdout: "SOME TEXT\n",
      stderr: "--url a b\n",
    });
  });

  it("chat-webhook reports a fix, with the address from a file that is root's alone", async () => {
    const address = chat.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    await session.host.writeFile("/etc/steward/chat-webhook", `http://127.0.0.1:${port}/services/x\n`, 0o600);
    expect(await steward("plugins enable chat-webhook --yes")).toMatchObject({ code: 0, stderr: "" });
    const unit = ["[Service]", "Type=oneshot", "RemainAfterExit=yes", "ExecStart=/usr/bin/test -e /run/needed"];
    await session.writeUnits({ "needs.service": unit });
    await session.host.exec(["systemctl", "start", "needs.service"], { allowFailure: true });
    await eventually(async () => {
      expect(await session.api.getCheck({ params: { check_id: "systemd_failed" } })).toMatchObject({ status: "fail" });
    });
    await session.shell("touch /run/needed");
    const fixed = await session.api.fixCheck({ params: { check_id: "systemd_failed" } });
    expect(fixed).toMatchObject({ success: true });
    await eventually(() => expect(posts).toHaveLength(1));
    const host = (await session.shell("uname -n")).trim();
    expect(posts).toEqual([
      expect.objectContaining({ text: expect.stringMatching(`^${host}: fix ended \\(systemd_failed\\): done\\n`) }),
    ]);
  });
});
