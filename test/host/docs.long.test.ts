import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { installedPrograms } from "./program.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

const pages = ["README.md", "docs/cli.md", "docs/plugins.md", "docs/install.md"] as const;
const checkout = "/opt/steward";
const directory = "/root/docs";

/** Commands that are not run here, by how they begin, and why. */
const notRun: readonly (readonly [prefix: string, why: string])[] = [
  ["npm ", "builds or starts something of the checkout: test/process/npm.test.ts, package-contents"],
  ["bin/steward doctor --fix", "asks: test/host/cli.long.test.ts"],
  ["bin/steward updates apply", "asks: test/host/cli.long.test.ts"],
  ["bin/steward --all", "needs contexts of other hosts: test/process/contexts.test.ts"],
  ["steward services restart", "changes the host: test/host/services.long.test.ts"],
  ["steward reboot start", "reboots the host: test/host/reboot.long.test.ts"],
  ["steward updates apply", "asks: test/host/cli.long.test.ts"],
  ["steward logs -f", "runs until Ctrl-C: test/host/cli.long.test.ts"],
  ["bin/steward logs --new-since update", "needs an update before it: test/host/logs-new.long.test.ts"],
  ["steward rollback", "needs a snapshot of that name: test/host/updates-rollback.long.test.ts"],
  ["steward operations watch", "needs an operation that runs: test/host/cli.long.test.ts"],
  ["steward explain", "needs a language model: test/host/demo.long.test.ts"],
  ["steward ask", "needs a language model: test/host/diagnose.long.test.ts"],
  ["steward chat", "needs a language model: test/host/demo.long.test.ts"],
  ["git diff | steward chat", "needs a language model: test/host/demo.long.test.ts"],
  ["steward console --open", "needs a desktop: src/open-browser.test.ts"],
  ["steward hostname set", "changes the host: test/host/control.host.test.ts"],
  ["steward plugins enable", "NAME stands for a plugin: test/host/plugins.long.test.ts"],
  ["steward plugins disable", "NAME stands for a plugin: test/host/plugins.long.test.ts"],
  ["sudo steward plugins confirm", "NAME stands for a plugin: test/host/plugins.long.test.ts"],
  ["steward plugins validate", "DIR stands for a directory: test/process/plugin-examples.long.test.ts"],
  ["steward NAME", "NAME stands for a plugin: test/host/plugins.long.test.ts"],
  ["sudo apt install ./steward_*.deb", "needs the package: test/host/package.long.test.ts"],
  ["sudo systemctl", "needs the package: test/host/package.long.test.ts"],
  ["sudo -u steward env", "runs until Ctrl-C: test/process/keystore-loss.long.test.ts"],
  ["sudo steward config check &&", "restarts the service of the package: test/host/package.long.test.ts"],
  [
    "node scripts/man-pages.ts DIR",
    "DIR stands for a directory: scripts/package.ts, whose result package-contents reads",
  ],
  ["jq ", "the host has no jq; test/api/cli-report.api.test.ts reads a report"],
];

const isShell = (line: string): boolean =>
  /^(?:npm|npx|node|python3|sudo|bin\/steward|steward|curl|export|jq|source|git) /.test(line);

/** Commands of a page: lines of indented blocks, and whole blocks that are marked as shell. */
function commandsOf(page: string): readonly string[] {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = ""]) => block.trim());
  const lines = text
    .replaceAll(/^```[\s\S]*?^```/gm, "")
    .split("\n")
    .flatMap((line) => /^ {4}(\S.*)$/.exec(line)?.[1] ?? [])
    .filter(isShell);
  return [...lines, ...blocks];
}

const reasonFor = (command: string): string | undefined => notRun.find(([prefix]) => command.startsWith(prefix))?.[1];
const all = pages.flatMap((page) => commandsOf(page).map((command) => ({ page, command })));
const isSetting = (command: string): boolean => command.startsWith("export ");
/** Follows the journal for ever. */
const isStream = (command: string): boolean => command.includes("new WebSocket");
const run = all.filter(({ command }) => reasonFor(command) === undefined && !isSetting(command));

it("each command of the docs that is not run has a reason, and each reason a command", () => {
  const unused = notRun.filter(([prefix]) => !all.some(({ command }) => command.startsWith(prefix)));
  expect(unused).toEqual([]);
  expect(run.length).toBeGreaterThan(40);
});

describeOnHost("commands of the docs, pasted as they stand", { privateNetwork: true }, (session) => {
  const settings = all
    .filter(({ command }) => isSetting(command))
    .map(({ command }) => command)
    .join("\n");
  const paste = (command: string) =>
    session.host.exec(["bash", "-c", `cd ${directory}\n${settings}\n${command}`], {
      allowFailure: true,
      timeoutMs: 60_000,
    });

  beforeAll(async () => {
    const { host } = session;
    // What the package puts into the path, and a `sudo` for root.
    await host.writeFile("/usr/local/bin/steward", `#!/bin/sh\nexec ${installedPrograms.join(" ")} "$@"\n`, 0o755);
    await host.writeFile("/usr/local/bin/sudo", '#!/bin/sh\nexec "$@"\n', 0o755);
    await host.exec(["ln", "-sf", installedPrograms[0], "/usr/local/bin/node"]);
    const script = 'while :; do echo "<4>upstream timed out"; sleep 1; done';
    await session.writeUnits({ "nginx.service": ["[Service]", `ExecStart=/bin/sh -c '${script}'`] });
    await session.shell(
      `mkdir ${directory} && ln -s ${checkout}/bin ${checkout}/scripts ${directory}/ && systemctl start nginx`,
    );
    await session.shell(`install -m 600 /var/lib/steward/admin.key ${directory}/my.key`);
    const usual = ["[Service]", "Environment=STEWARD_LISTEN=127.0.0.1:8470", ""].join("\n");
    await host.writeFile("/etc/systemd/system/steward.service.d/60-address.conf", usual);
    await session.shell("systemctl daemon-reload && systemctl restart steward");
    await eventually(() => session.shell("curl --silent --fail http://127.0.0.1:8470/readyz"), 60_000);
  });

  it.each(run.filter(({ command }) => !isStream(command)))("$page: $command", async ({ command }) => {
    const { exitCode, stdout, stderr } = await paste(command);
    // 1 is that something is wrong on the host.
    expect([0, 1], `${stdout}${stderr}`).toContain(exitCode);
    expect(stderr).not.toMatch(/^steward: (?:error|cannot|unknown)/m);
    if (command.startsWith("curl ")) expect(JSON.parse(stdout)).not.toHaveProperty("error");
  });

  it.each(run.filter(({ command }) => isStream(command)))("$page: $command", async ({ command }) => {
    const { stdout } = await paste(`(\n${command}\n) | grep --max-count 1 "upstream timed out"`);
    expect(stdout).toBe("upstream timed out\n");
  });
});
