import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { changesSince, type FileTree, fileTree } from "./support/file-tree.ts";
import { reportingPlugin } from "./support/plugin-report.ts";
import { callPlugin, pluginCommand, pluginDir, writePlugin } from "./support/plugins.ts";
import { describeOnHost } from "./support/session.ts";

/** What the system itself writes while a test continues, and what the tests give plugins to write to. */
const ignore = [
  /^\/var\/log\//,
  /\/systemd-private-[0-9a-f]+-(systemd-|polkit)/,
  /^\/etc\/steward\/plugins/,
  /^\/srv(\/|$)/,
  /^\/root\//,
];

const shell = (...lines: readonly string[]): string => `#!/bin/sh\n${lines.join("\n")}\n`;
const python = (...lines: readonly string[]): string => `#!/usr/bin/python3\n${lines.join("\n")}\n`;

describeOnHost("plugins in their sandbox", (session) => {
  let before: FileTree;

  /** Units of plugins, processes of theirs and of their users, and what was reported of their ends. */
  const remains = async (): Promise<string> => {
    const units = await session.shell("systemctl list-units --all --plain --no-legend 'steward-plugin-*'");
    // Users that exist only while a unit runs have numbers of this range.
    const processes = await session.shell(
      `ps -eo uid=,pid=,args= | awk '($1 >= 61184 && $1 <= 65519) || /${pluginDir.replaceAll("/", "\\/")}\\/[a-z]/' | grep -v -e awk -e run-plugin || true`,
    );
    return `${units}${processes}${await session.shell("ls -A /run/steward-plugins/ends 2>/dev/null || true")}`;
  };

  beforeAll(async () => {
    await session.shell(
      "mkdir -p /srv/backup /srv/out && echo deep > /srv/backup/secret && chmod -R go-rwx /srv/backup /srv/out",
    );
  });
  beforeEach(async () => {
    before = await fileTree(session);
  });
  afterEach(async () => {
    expect(await remains()).toBe("");
    expect(changesSince(before, await fileTree(session), { ignore })).toEqual({ added: [], removed: [], changed: [] });
  });

  /** A terminal that somebody of root works at, as long as this continues. */
  const withTerminal = async <T>(work: () => Promise<T>): Promise<T> => {
    await session.shell(
      "setsid script -qfc 'exec sleep 300' /dev/null > /dev/null 2>&1 < /dev/null & echo $! > /run/terminal",
    );
    try {
      await eventually(async () => expect(await session.shell("ls /dev/pts")).toMatch(/^0$/m));
      return await work();
    } finally {
      await session.shell("pkill -KILL -P $(cat /run/terminal); rm /run/terminal");
    }
  };

  const report = async (name: string): Promise<Readonly<Record<string, string>>> => {
    const args = [String(await session.service.pid()), "/srv/backup/secret"];
    const { end, notRun, fault } = await callPlugin(session, name, { args });
    expect([end?.exitCode, end?.stderr, notRun, fault]).toEqual([0, "", undefined, undefined]);
    const lines = (end?.stdout ?? "").trim().split("\n");
    return Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
    );
  };
  const environment = "HOME LANG PATH STEWARD_PLUGIN STEWARD_PLUGIN_DIR TMPDIR";
  const untouchable = {
    "read the key store": "EACCES",
    "read the admin key": "EACCES",
    "list the state directory": "EACCES",
    "read the environment of the service": "EACCES",
    "read the memory of the service": "EACCES",
    "read the files of the service": "EACCES",
    "read the environment of systemd": "EACCES",
    "list /root": "EACCES",
    "read the kernel log": "ENOENT",
    "read the disk": "ENOENT",
    "change its own directory": "EROFS",
    "change its program": "EROFS",
    "change the kernel": "EROFS",
    "kill the service": "EPERM",
    "kill systemd": "EPERM",
    "become root": "EPERM",
    "change its root": "EPERM",
    "make a device": "EPERM",
    "make a set-user-id program": "EPERM",
    "socket inet": "EAFNOSUPPORT",
    "socket inet6": "EAFNOSUPPORT",
    "socket netlink": "EAFNOSUPPORT",
    "socket packet": "EAFNOSUPPORT",
  };

  it("can do what a plugin needs, and nothing that it should not", async () => {
    await writePlugin(session, "report", reportingPlugin);
    expect(await withTerminal(() => report("report"))).toEqual({
      ...untouchable,
      root: "False",
      environment,
      directory: "/",
      CapEff: "0000000000000000",
      CapBnd: "0000000000000000",
      CapAmb: "0000000000000000",
      NoNewPrivs: "1",
      Seccomp: "2",
      "read /etc/shadow": "EACCES",
      "read the secret": "EACCES",
      "writes into": "/dev/shm",
      "be more important": "EPERM",
      "socket of the manager": "EACCES",
      "socket of the bus": "EACCES",
      "read a terminal": "EACCES",
      "read what the kernel shows to root": expect.any(String),
    });
  });

  it("reads and changes what it asked for, and sees nothing else that is closed", async () => {
    await writePlugin(session, "reader", reportingPlugin, ["permissions: { read: [/srv/backup], write: [/srv/out] }"]);
    expect(await withTerminal(() => report("reader"))).toEqual({
      ...untouchable,
      "read the key store": "ENOENT",
      "read the admin key": "ENOENT",
      "list the state directory": "ENOENT",
      // Its processes too are the only ones that it sees; of /root it may see what is left there, which is nothing.
      "list /root": "",
      "read the environment of the service": "ENOENT",
      "read the memory of the service": "ENOENT",
      "read the files of the service": "ENOENT",
      "read the environment of systemd": "ENOENT",
      root: "False",
      environment,
      directory: "/",
      CapEff: "0000000000000006",
      CapBnd: "0000000000000006",
      CapAmb: "0000000000000006",
      NoNewPrivs: "1",
      Seccomp: "2",
      "read /etc/shadow": "ENOENT",
      "read the secret": "ok",
      "writes into": "/dev/shm /srv/out",
      "be more important": "EPERM",
      "socket of the manager": "ENOENT",
      "socket of the bus": "ENOENT",
      "read a terminal": "ENOENT",
      "read what the kernel shows to root": "nothing",
    });
  });

  it("does not run where another user could redirect a path that it asked for", async () => {
    await session.shell(
      "mkdir -p /srv/users/alice && chown 1000 /srv/users/alice && ln -sfn /etc /srv/users/alice/out",
    );
    await session.shell("ln -sfn /srv/users/alice/out /srv/link");
    const foreign = "others than root may put something else there (let it ask for /srv/users/alice)";
    const reasons = {
      "/srv/users/alice/out": foreign,
      "/srv/users/alice/new/out": foreign,
      "/srv/link": "/srv/link is a link (let it ask for what that leads to)",
      "/srv/link/shadow": "/srv/link is a link (let it ask for what that leads to)",
    };
    for (const [path, reason] of Object.entries(reasons)) {
      await writePlugin(session, "led", shell("head -c 4 /etc/shadow"), [`permissions: { read: [${path}] }`]);
      expect(await callPlugin(session, "led")).toMatchObject({
        notRun: `PluginNotRun: it asks for ${path}, and ${reason}`,
      });
    }
  });

  it("is root only when it asks for it, and even then does not see the keys", async () => {
    const program = shell("id -u", "head -c 4 /etc/shadow", "echo", "ls /var/lib/steward");
    await writePlugin(session, "plain", program);
    await writePlugin(session, "rooted", program, ["permissions: { user: root }"]);
    const plain = await callPlugin(session, "plain");
    expect(plain.end?.stdout).toMatch(/^6\d{4}\n\n$/);
    expect(plain.end?.stderr).toMatch(/shadow.*Permission denied/);
    const rooted = await callPlugin(session, "rooted");
    // Whose line is the first depends on what was installed first.
    const shadow = await session.shell("head -c 4 /etc/shadow");
    expect(shadow).toMatch(/^[a-z]+:?$/);
    expect(rooted.end?.stdout).toBe(`0\n${shadow}\n`);
  });

  it("takes a daemon with it that it started and that is deaf to SIGTERM", async () => {
    await writePlugin(
      session,
      "daemon",
      python(
        "import os, signal, sys, time",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)",
        "if os.fork() == 0:",
        "    os.setsid()",
        "    if os.fork() != 0: os._exit(0)",
        "    while True: time.sleep(1)",
        "print('started', flush=True)",
        "sys.exit(2)",
      ),
    );
    expect((await callPlugin(session, "daemon")).end).toMatchObject({ exitCode: 2, stdout: "started\n" });
  });

  it("is ended at its time limit, deaf to SIGTERM or not", async () => {
    await writePlugin(session, "deaf", shell("trap '' TERM INT HUP", "while :; do sleep 1; done"), ["timeout: 2s"]);
    expect(await callPlugin(session, "deaf")).toMatchObject({
      notRun: "PluginNotRun: it exceeded its time limit of 2 s, and was killed with all processes that it had started",
    });
  });

  it("keeps in the answer what it wrote before its time limit", async () => {
    await writePlugin(session, "speaks", shell("echo started; echo trouble >&2; exec sleep 1000"), ["timeout: 2s"]);
    const params = { name: "speaks" };
    await session.api.enablePlugin({ params, body: {} });
    await expect(session.api.runPlugin({ params, body: {} })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      details: { stdout: "started\n", stderr: "trouble\n" },
    });
    await session.api.disablePlugin({ params });
  });

  it("is ended when its caller is gone", async () => {
    await writePlugin(session, "waits", shell("exec sleep 1000"));
    const line = pluginCommand({ directory: "waits" })
      .map((word) => `'${word}'`)
      .join(" ");
    const answer = session.shell(`${line} & echo $! > /run/caller; wait $!`);
    await eventually(async () => {
      expect(await session.shell("pgrep -x sleep -a || true")).toContain("sleep 1000");
    });
    await session.shell("kill -TERM $(cat /run/caller)");
    expect(JSON.parse(await answer)).toMatchObject({
      notRun: "PluginNotRun: it was killed with all processes that it had started: its caller is gone",
    });
  });

  it("is ended by systemd when its caller is killed", async () => {
    await writePlugin(session, "orphan", shell("trap '' TERM HUP PIPE", "while :; do sleep 1; done"), ["timeout: 1s"]);
    const line = pluginCommand({ directory: "orphan" })
      .map((word) => `'${word}'`)
      .join(" ");
    const caller = session.shell(`${line} & echo $! > /run/caller; wait $! || true`);
    await eventually(async () => {
      expect(await session.shell("systemctl list-units --plain --no-legend 'steward-plugin-orphan-*'")).not.toBe("");
    });
    // Its service and what it waits with, as the end of a whole control group takes them.
    await session.shell("kill -KILL $(cat /run/caller); pkill -KILL -x systemd-run || true");
    await caller;
    await eventually(async () => {
      expect(await session.shell("systemctl list-units --all --plain --no-legend 'steward-plugin-*'")).toBe("");
    });
    // Nobody has asked how it ended; a later run forgets it.
    expect(await session.shell("ls /run/steward-plugins/ends")).toMatch(
      /^steward-plugin-orphan-\S+\.timeout\.killed\.KILL\n$/,
    );
    await session.shell("rm /run/steward-plugins/ends/*");
  });

  it("may write no more than its directory holds, be it files or bytes", async () => {
    await writePlugin(
      session,
      "fills",
      shell(
        'cd "$TMPDIR"',
        "head -c 200000000 /dev/zero > big",
        "stat -c %s big",
        "rm big",
        "i=0; while true > f$i; do i=$((i+1)); done 2> /dev/null",
        "ls | wc -l",
        "for f in /tmp/x /var/tmp/x; do echo x > $f; done",
      ),
      ["timeout: 60s"],
    );
    const { end } = await callPlugin(session, "fills");
    expect(end?.stdout).toBe(`${64 * 1024 ** 2}\n4095\n`);
    expect(end?.stderr).toMatch(/No space left on device/);
    expect(end?.stderr).toMatch(/\/tmp\/x: Read-only file system/);
    expect(end?.stderr).toMatch(/\/var\/tmp\/x: Read-only file system/);
  });

  it("may print a gigabyte, of which the start is kept", async () => {
    await writePlugin(session, "flood", shell("head -c 1000000000 /dev/zero | tr '\\0' x", "exit 1"), [
      "timeout: 240s",
    ]);
    expect((await callPlugin(session, "flood")).end).toMatchObject({
      exitCode: 1,
      isTruncated: true,
      outputBytes: 1024 ** 2,
    });
  });

  it("gets no more memory than it asked for", async () => {
    const program = python("print(len(bytearray(300 * 1024 * 1024)))");
    await writePlugin(session, "eats", program);
    await writePlugin(session, "fed", program, ["permissions: { memory: 512M }"]);
    expect((await callPlugin(session, "eats")).end).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("MemoryError"),
    });
    expect((await callPlugin(session, "fed")).end).toMatchObject({ exitCode: 0, stdout: "314572800\n" });
  });

  it("gets no more processes than it asked for", async () => {
    await writePlugin(
      session,
      "bomb",
      python(
        "import os, time",
        "made = 0",
        "while True:",
        "    try:",
        "        if os.fork() == 0:",
        "            while True: time.sleep(1)",
        "        made += 1",
        "    except OSError:",
        "        break",
        "print(made)",
      ),
      ["permissions: { tasks: 20 }"],
    );
    expect((await callPlugin(session, "bomb")).end).toMatchObject({ exitCode: 0, stdout: "19\n" });
  });

  it("reaches the network as far as it asked for, and does not run where that cannot be enforced", async () => {
    const port = new URL(session.service.url).port;
    const program = python(
      "import errno, socket",
      "try:",
      `    socket.create_connection(("127.0.0.1", ${port}), 5)`,
      "    print('connected')",
      "except OSError as error: print(errno.errorcode[error.errno])",
    );
    await writePlugin(session, "alone", program);
    await writePlugin(session, "full", program, ["permissions: { network: full }"]);
    await writePlugin(session, "local", program, ["permissions: { network: local }"]);
    expect((await callPlugin(session, "alone")).end?.stdout).toBe("EAFNOSUPPORT\n");
    expect((await callPlugin(session, "full")).end?.stdout).toBe("connected\n");
    const local = await callPlugin(session, "local");
    // The kernel of a host in a container may not filter for it: then it is not run.
    if (local.end === undefined) expect(local.notRun).toMatch(/systemd cannot keep it to loopback on this host/);
    else expect(local.end.stdout).toBe("connected\n");
  });

  it("may lose its directory while it runs, and has another digest once it changed", async () => {
    await writePlugin(session, "brief", shell('sleep 1000; echo done; ls "$STEWARD_PLUGIN_DIR"'));
    const running = callPlugin(session, "brief");
    await eventually(async () => {
      expect(await session.shell("pgrep -x -a sleep || true")).toContain("sleep 1000");
    });
    await session.shell(`rm -r ${pluginDir}/brief; pkill -KILL -x sleep`);
    // It continues, without its directory.
    expect(await running).toMatchObject({
      end: { exitCode: 2, stdout: "done\n", stderr: expect.stringContaining("No such file or directory") },
    });
    expect(await callPlugin(session, "brief")).toEqual({ fault: "there is no such directory" });
    const digests: (string | undefined)[] = [];
    for (const word of ["one", "two", "one"]) {
      await writePlugin(session, "brief", shell(`echo ${word}`));
      const { end, digest } = await callPlugin(session, "brief");
      expect(end?.stdout).toBe(`${word}\n`);
      digests.push(digest);
    }
    expect(digests[1]).not.toBe(digests[0]);
    expect(digests[2]).toBe(digests[0]);
    await session.shell(`chmod g+w ${pluginDir}/brief/run`);
    expect((await callPlugin(session, "brief")).fault).toBe(
      `${pluginDir}/brief/run may be changed by others than its owner (chmod go-w ${pluginDir}/brief/run)`,
    );
  });

  it("reports how it ended", async () => {
    const codes = { exit: "exit 203", word: "echo x; exit 226", crash: "kill -SEGV $$", soft: "kill -TERM $$" };
    const ends: Record<string, unknown> = {};
    for (const [name, line] of Object.entries(codes)) {
      await writePlugin(session, name, shell(line));
      const { end, notRun } = await callPlugin(session, name);
      ends[name] = end?.exitCode ?? notRun;
    }
    expect(ends).toEqual({
      exit: expect.stringMatching(/^PluginNotRun: its sandbox could not be made \(systemd exit code 203/),
      word: 226,
      crash: 139,
      soft: 143,
    });
    expect(await session.shell("systemctl list-units --failed --plain --no-legend")).toBe("");
  });

  it("gets arguments and input unchanged", async () => {
    await writePlugin(session, "tells", shell('printf "<%s>" "$@"', "cat"));
    const args = ["$HOME", "$$", "%n", "a b", "", "'\"\\", "\n", "--help", "ü"];
    const { end } = await callPlugin(session, "tells", { args, stdin: "in ü" });
    expect(end?.stdout).toBe(`${args.map((word) => `<${word}>`).join("")}in ü`);
  });

  it("is enabled only where its unit can be started, and does not run for that", async () => {
    await writePlugin(session, "tried", shell("touch /dev/shm/ran; echo ran"));
    const params = { name: "tried" };
    const enabled = () => session.api.enablePlugin({ params, body: {} });
    // Drop-ins of a prefix hold for the units of plugins as well.
    const dropIn = "/etc/systemd/system/steward-plugin-.service.d";
    await session.shell(
      `mkdir -p ${dropIn}; printf '[Service]\\nWorkingDirectory=/nowhere\\n' > ${dropIn}/60-wrong.conf; systemctl daemon-reload`,
    );
    try {
      expect(await session.api.enablePlugin({ params, body: {}, query: { dry_run: true } })).toMatchObject({
        steps: [],
        reason: expect.stringContaining("its sandbox could not be made"),
      });
      expect(await enabled()).toMatchObject({
        success: false,
        enabled: false,
        message: expect.stringMatching(/^cannot enable tried: its sandbox could not be made \(systemd exit code 200/),
      });
    } finally {
      await session.shell(`rm -r ${dropIn}; systemctl daemon-reload`);
    }
    await session.shell(
      `mount --bind ${pluginDir}/tried ${pluginDir}/tried; mount -o remount,bind,noexec ${pluginDir}/tried`,
    );
    try {
      expect(await enabled()).toMatchObject({
        success: false,
        message: expect.stringContaining(`${pluginDir}/tried/run cannot be run in its sandbox on this host`),
      });
    } finally {
      await session.shell(`umount ${pluginDir}/tried`);
    }
    expect(await enabled()).toMatchObject({ success: true, enabled: true });
    expect(await session.api.runPlugin({ params, body: {} })).toMatchObject({ exit_code: 0, stdout: "ran\n" });
    await session.api.disablePlugin({ params });
  });

  it("runs in a unit that systemd-analyze rates as safe", async () => {
    await writePlugin(session, "lasts", shell("exec sleep 1000"));
    const running = callPlugin(session, "lasts");
    const unit = await eventually(async () => {
      const name =
        (await session.shell("systemctl list-units --plain --no-legend 'steward-plugin-lasts-*'")).split(" ")[0] ?? "";
      expect(name).toMatch(/^steward-plugin-lasts-[0-9a-f]{8}\.service$/);
      return name;
    });
    const verdict = await session.shell(`systemd-analyze security --no-pager ${unit} | tail -1`);
    expect(Number(/: (\d+\.\d+) /.exec(verdict)?.[1])).toBeLessThanOrEqual(1.2);
    expect(await session.shell(`systemctl show -p RuntimeMaxUSec --value ${unit}`)).toBe("45s\n");
    // The unit is listed before its program is executed.
    await eventually(() => session.shell("pkill -TERM -x sleep"));
    expect((await running).end?.exitCode).toBe(143);
  });
});
