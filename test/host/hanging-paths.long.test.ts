import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeOnHost } from "./support/session.ts";

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
const pluginsDir = "/srv/plugins";
const manifest = `name: greet
version: 1.0.0
author: t
description: greets
type: command
exec: ./greet
`;

describeOnHost(
  "paths that give no answer",
  { config: `plugins: { dirs: [${pluginsDir}] }\n`, checks: ["systemd_failed"] },
  (session) => {
    const { shell } = session;
    const programs = (from: string, to: string): Promise<string> => shell(`pgrep -fx 'bindfs ${from} ${to}'`);
    const signal = async (name: "STOP" | "CONT", from: string, to: string) =>
      shell(`kill -${name} ${await programs(from, to)}`);
    const mount = (from: string, to: string) => shell(`mkdir -p ${from} ${to} && bindfs ${from} ${to}`);
    /** Processes that look at paths for the service or for root. */
    const looks = async (name: string): Promise<number> =>
      (await shell(`pgrep -f ' look ${name}$' || true`)).split("\n").filter(Boolean).length;
    const quiet = () =>
      shell('until [ "$(systemctl show -P NConnections steward-task.socket)" = 0 ]; do sleep 0.1; done');

    beforeAll(() => shell("test -e /dev/fuse || mknod /dev/fuse c 10 229"));

    describe("a home", () => {
      // In two layers: what the outer one has taken on waits for the inner one, and cannot be killed.
      const [source, inner, home] = ["/srv/home", "/srv/inner", "/home/slow"];

      beforeAll(async () => {
        // Without it sshd, where it is installed and has not been started, does not say where keys are.
        await shell("mkdir -p /run/sshd");
        await shell(`useradd -d ${home} slow; useradd -m quick; mkdir -p /home/quick/.ssh ${source}/.ssh`);
        await shell(`echo '${key} a' | tee /home/quick/.ssh/authorized_keys > ${source}/.ssh/authorized_keys`);
        await mount(source, inner);
        await mount(inner, home);
        await session.writeUnits({ "breaks.service": ["[Service]", "ExecStart=/bin/false"] });
        await shell("systemctl start breaks.service; until systemctl -q is-failed breaks.service; do sleep 0.1; done");
      });
      afterAll(async () => {
        await signal("CONT", source, inner);
      });

      const listed = async () => {
        const { users, not_shown: notShown } = await session.api.listUsers();
        const keys = Object.fromEntries(users.map(({ name, authorized_keys: found }) => [name, found?.length ?? null]));
        return { slow: keys["slow"], quick: keys["quick"], notShown };
      };
      const withoutSlow = {
        slow: null,
        quick: 1,
        notShown: [{ what: "authorized_keys", reason: expect.stringMatching(/do not answer: slow$/) as string }],
      };

      it("leaves the list of users, and what else takes root, without its keys alone", async () => {
        expect(await listed()).toEqual({ slow: 1, quick: 1, notShown: [] });
        await signal("STOP", source, inner);
        for (let at = 0; at < 20; at += 1) expect(await listed()).toEqual(withoutSlow);
        await quiet();
        expect(await looks("keys")).toBe(1);
        expect(await shell("systemctl list-units --plain --no-legend --state=active 'steward-task@*'")).toBe("");

        await session.api.checkUpdates();
        await session.api.listLogins();
        expect(
          await session.api.fixCheck({ params: { check_id: "systemd_failed" }, query: { dry_run: true } }),
        ).toMatchObject({ units: ["breaks.service"] });
        await session.api.applyUpdates({ body: { type: "all" }, query: { dry_run: true } });
      });

      it("is not inspected again by a service that was restarted, until it answers", async () => {
        await session.service.restart();
        expect(await listed()).toEqual(withoutSlow);
        expect(await looks("keys")).toBe(1);
        await signal("CONT", source, inner);
        await expect.poll(() => looks("keys")).toBe(0);
        await expect.poll(listed).toEqual({ slow: 1, quick: 1, notShown: [] });
      });
    });

    describe("a plugin directory", () => {
      const source = "/srv/plugins-of-others";

      beforeAll(async () => {
        await mount(source, pluginsDir);
        await session.host.writeFile(`${source}/greet/plugin.yaml`, manifest);
        await session.host.writeFile(`${source}/greet/greet`, "#!/bin/sh\necho hello\n", 0o755);
      });
      afterAll(async () => {
        await signal("CONT", source, pluginsDir);
      });

      it("is named, and leaves the service answering", async () => {
        const faults = async () => (await session.api.listPlugins()).plugins.map(({ name, fault }) => [name, fault]);
        expect(await faults()).toEqual([["greet", null]]);
        await signal("STOP", source, pluginsDir);
        const [pid, asked] = [await session.service.pid(), faults()];
        // Answered while the plugins are looked for.
        await session.api.getHealth();
        expect(await asked).toEqual([["plugins", expect.stringMatching(/gives no answer/)]]);
        expect(await session.service.pid()).toBe(pid);
        await signal("CONT", source, pluginsDir);
        expect(await faults()).toEqual([["greet", null]]);
        expect(await looks("plugins")).toBe(0);
      });
    });

    describe("a directory whose size is asked for", () => {
      // In two layers: what the outer one has taken on waits for the inner one, and cannot be killed.
      const [source, inner, slow] = ["/srv/measured-of-others", "/srv/inner-measured", "/srv/measured/slow"];

      beforeAll(async () => {
        await shell(`mkdir -p /srv/measured/quick ${source}/deep && echo data > /srv/measured/quick/file`);
        await mount(source, inner);
        await mount(inner, slow);
      });
      afterAll(async () => {
        await signal("CONT", source, inner);
      });

      it("is named, however often it is asked for, and what it lies in is measured without it", async () => {
        const usage = (path: string) => session.api.getDiskUsage({ query: { path, depth: 1 } });
        expect(await usage(slow)).toMatchObject({ entries: 1, largest: [{ path: `${slow}/deep` }] });
        await signal("STOP", source, inner);
        const pid = await session.service.pid();
        for (let at = 0; at < 5; at += 1)
          await expect(usage(slow)).rejects.toMatchObject({
            ...{ status: 503, code: "UNAVAILABLE", message: expect.stringContaining(`${slow} gives no answer`) },
            details: { missing: slow, retryable: true },
          });
        expect(await usage("/srv/measured")).toMatchObject({
          largest: [{ path: "/srv/measured/quick" }],
          other_file_systems: { paths: [slow] },
          truncated: null,
        });
        await expect.poll(() => looks("sizes")).toBe(1);
        expect(await session.service.pid()).toBe(pid);
        await signal("CONT", source, inner);
        await expect.poll(() => looks("sizes")).toBe(0);
        expect(await usage(slow)).toMatchObject({ entries: 1 });
      });
    });

    describe("a directory of backups", () => {
      const [source, inner, backups] = ["/srv/backups", "/srv/inner-backups", "/mnt/backups"];

      beforeAll(async () => {
        await mount(source, inner);
        await mount(inner, backups);
        await shell(`mkdir -p /srv/other; echo backup | tee ${source}/a.tar > /srv/other/b.tar`);
        const targets = `[{ name: slow, folder: ${backups} }, { name: quick, folder: /srv/other }]`;
        await session.host.writeFile(
          "/etc/steward/config.yaml",
          `health: { interval: 24h, checks: { backup_age: { interval: 24h, targets: ${targets} } } }\n`,
        );
        await session.service.restart();
      });
      afterAll(async () => {
        await signal("CONT", source, inner);
      });

      it("is named by its check, and leaves no process of root's side, however often it is asked for", async () => {
        const checked = async () => {
          const { status, message } = await session.api.getCheck({ params: { check_id: "backup_age" } });
          return { status, message };
        };
        expect(await checked()).toMatchObject({ status: "pass" });
        await signal("STOP", source, inner);
        for (let at = 0; at < 5; at += 1) {
          expect(await checked()).toEqual({ status: "fail", message: `backup slow: ${backups} gives no answer` });
          await quiet();
        }
        expect(await looks("backups")).toBe(1);
        expect(await shell("systemctl list-units --plain --no-legend --state=active 'steward-task@*'")).toBe("");
        await signal("CONT", source, inner);
        await expect.poll(() => looks("backups")).toBe(0);
        await expect.poll(checked).toMatchObject({ status: "pass" });
      });
    });
  },
);
