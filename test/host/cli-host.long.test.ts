import { beforeAll, expect, it } from "vitest";
import { commandLineOn } from "./support/command-line.ts";
import { eventually } from "./support/eventually.ts";
import { makePackageSources, type PackageRecipe } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const tool: PackageRecipe = { name: "tool-of-test", version: "1.0", place: "main", config: "as it came\n" };

describeOnHost("what the command line changes of a host", { checks: [] }, (session) => {
  const { atTerminal, inPipe } = commandLineOn(session);
  const { shell } = session;
  const show = async (unit: string, name: string) => (await shell(`systemctl show -P ${name} ${unit}`)).trim();
  /** What a command prints that does what it is asked for. */
  const done = async (line: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await inPipe(line.split(" "));
    expect([line, exitCode, stderr]).toEqual([line, 0, expect.any(String)]);
    return stdout;
  };
  const refused = async (line: string): Promise<string> => {
    const { exitCode, stderr } = await inPipe(line.split(" "));
    expect([line, exitCode]).toEqual([line, 2]);
    return stderr;
  };

  beforeAll(async () => {
    await session.writeUnits({
      "web.service": [
        ...["[Unit]", "Description=A web", "[Service]", "ExecStart=/bin/sleep infinity", "ExecReload=/bin/true"],
        ...["[Install]", "WantedBy=multi-user.target"],
      ],
    });
  });

  it("services are started, reloaded, stopped, enabled and masked", async () => {
    expect(await done("services start web --dry-run")).toMatch(/^ {2}1\. start web\.service\n/);
    expect(await show("web", "ActiveState")).toBe("inactive");
    expect(await done("services start web")).toBe("web.service started, it is active (running)\n");
    expect(await done("services start web")).toBe("web.service is active already\n");
    expect(await done("services reload web")).toBe("web.service reloaded, it is active (running)\n");
    expect(await done("services enable web")).toMatch(/^web\.service enabled\n {2}symlink \/etc\/systemd\/system\//);
    expect(await show("web", "UnitFileState")).toBe("enabled");
    expect(await done("services disable web")).toMatch(/^web\.service disabled; it still runs\n {2}unlink /);
    const status = await done("services status web");
    expect(status).toMatch(/^web\.service {2}A web\n +state {2}active \(running\), since /);
    expect(status).toMatch(/^ +boot {2}does not start at boot$/m);
    expect(status).toMatch(/^ +command {2}\/bin\/sleep infinity$/m);
    expect(await done("services stop web")).toBe("web.service stopped\n");
    expect(await show("web", "ActiveState")).toBe("inactive");
    expect(await done("services mask cron")).toMatch(/^cron\.service masked/);
    expect(await show("cron", "LoadState")).toBe("masked");
    expect(await refused("services start cron")).toContain("masked");
    await done("services unmask cron");
    await done("services start cron");
    expect(await refused("services stop steward")).toContain("systemctl stop steward.service");
  });

  it("a process gets a signal, after a question", async () => {
    await done("services start web");
    const pid = await show("web", "MainPID");
    expect(await done(`processes signal ${pid} TERM --dry-run`)).toContain(`send SIGTERM to process ${pid} `);
    expect(await refused(`processes signal ${pid} TERM`)).toContain("--yes");
    const words = ["processes", "signal", pid, "TERM"];
    const no = await atTerminal(words, { steps: [{ wait: "[y/N]", send: "n\r" }] });
    expect([no.code, await show("web", "MainPID")]).toEqual([1, pid]);
    const yes = await atTerminal(words, { steps: [{ wait: "[y/N]", send: "y\r" }] });
    expect(yes).toMatchObject({ code: 0, output: expect.stringContaining(`SIGTERM sent to process ${pid} (sleep)`) });
    await eventually(async () => expect(await show("web", "MainPID")).toBe("0"));
    expect(await refused("processes signal 1 KILL --yes")).toContain("first process");
  });

  it("the time zone and the name", async () => {
    const zone = (await shell("timedatectl show --value --property=Timezone")).trim();
    expect(await done("time set --timezone Asia/Kathmandu")).toBe(
      `changed the time zone from ${zone} to Asia/Kathmandu\n`,
    );
    // Both may be asked on either side of a minute.
    await eventually(async () => {
      const shown = await done("time");
      expect(shown).toContain(`local time      ${(await shell("date '+%F %H:%M'")).trim()}`);
      expect(shown).toMatch(/^time zone {7}Asia\/Kathmandu$/m);
    });
    await done(`time set --timezone ${zone}`);
    const before = (await shell("uname -n")).trim();
    expect(await done("hostname set renamed.example.org")).toContain("the host is called renamed.example.org");
    expect(await done("hostname")).toBe("renamed.example.org\n");
    await done(`hostname set ${before}`);
    expect(await refused("hostname set _bad_")).toContain("VALIDATION_ERROR");
  });

  it("packages are installed, held, removed and purged, and an operation that has ended is not cancelled", async () => {
    await makePackageSources(session, [tool]);
    const state = () => shell(`dpkg-query -W -f '\${db:Status-Abbrev}' tool-of-test 2>/dev/null || echo none`);
    expect(await done("packages search made for a test")).toMatch(/^tool-of-test +1\.0 +made for a test$/m);
    expect(await done("packages install tool-of-test --dry-run")).toContain("install tool-of-test 1.0\n");
    expect(await refused("packages install tool-of-test")).toContain("--yes");
    expect(await state()).toBe("none\n");
    expect(await done("packages install tool-of-test --yes --no-snapshot")).toMatch(/1 package changed\n$/);
    expect(await done("packages show tool-of-test --files")).toMatch(
      /^installed: 1\.0, manual$(.|\n)*^\/etc\/tool-of-test\.conf$/m,
    );
    expect(await done("packages history -n 1")).toMatch(/^ {2}install tool-of-test 1\.0$/m);
    expect(await done("packages hold tool-of-test")).toBe("held: tool-of-test\n");
    expect(await shell("apt-mark showhold")).toBe("tool-of-test\n");
    expect(await refused("packages remove tool-of-test --yes")).toContain("held at its version");
    await done("packages unhold tool-of-test");
    await done("packages remove tool-of-test --yes --no-snapshot");
    expect(await state()).toBe("rc ");
    expect(await done("packages purge tool-of-test --yes --no-snapshot")).toContain("1 package changed\n");
    expect(await state()).toBe("none\n");
    const [, id = ""] = /^(\S+-\S+) +packages\.change +done/m.exec(await done("operations")) ?? [];
    expect(await refused(`operations cancel ${id} --yes`)).toContain("it has ended already (done)");
  });

  it("the journal takes as much room as journalctl says", async () => {
    // What systemd 252 calls 8.0M is 8M for 257.
    const plain = (line: string): string => line.replace(/\.0(?=[KMGT])/, "");
    await eventually(async () => {
      const theirs = await shell("journalctl --disk-usage");
      expect(plain(await done("logs --disk-usage"))).toBe(plain(theirs));
    });
  });
});
