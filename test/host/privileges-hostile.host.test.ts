import { beforeAll, describe, expect, it } from "vitest";
import { installedPrograms } from "./program.ts";
import { answers, asked, asks, createIntruder, done } from "./support/intruder.ts";
import { callPlugin, pluginDir, writePlugin } from "./support/plugins.ts";
import { describeOnHost } from "./support/session.ts";

const secret = "/root/secret.json";

/*
 * Whoever has taken the service over is its user: may write anything below its folders, at any moment, and start the door. Each
 * test does that as this user and looks at what root has made of it. The first of each kind is what is honest, so that one knows
 * that the others would have been seen to come through.
 */
describeOnHost("root's side of the door", (session) => {
  const { newOperation, newAsk, hostile, must, open, spec, write, rootsFile, stateOf, answerOf } =
    createIntruder(session);

  beforeAll(async () => {
    await session.host.writeFile(
      "/etc/steward/config.yaml",
      "health: { checks: { who: { command: [/usr/bin/touch, /root/evil] } } }\n",
    );
    await session.host.writeFile(secret, JSON.stringify({ ask: "packages.restart_needs", input: {} }), 0o600);
    // The folder of asks is made by the first of them.
    await session.api.checkUpdates();
  });

  describe("of operations", () => {
    it("does what is asked honestly", async () => {
      const id = newOperation();
      await write(`${asked}/${id}/spec.json`, spec(id));
      expect(await open(id)).toMatchObject({ exitCode: 0 });
      expect(await stateOf(id)).toMatchObject({ status: "done", result: { description: "honest" } });
    });

    /** Nothing of it is taken over: root has no record, so it has done nothing. */
    const leavesAlone = async (id: string): Promise<void> => {
      await open(id);
      expect(await rootsFile(id, "spec.json")).toBeUndefined();
    };

    it.each<[string, (id: string, folder: string) => Promise<unknown>]>([
      [
        "a link in the place of the spec",
        (id, folder) => write(`${folder}/other`, spec(id)).then(() => must(`ln -s other ${folder}/spec.json`)),
      ],
      [
        "a link to what only root may read",
        (_, folder) => must(`mkdir -p ${folder}; ln -s ${secret} ${folder}/spec.json`),
      ],
      [
        "a second name",
        (id, folder) =>
          write(`${folder}/spec.json`, spec(id)).then(() => must(`ln ${folder}/spec.json ${folder}/other`)),
      ],
      ["a pipe that nobody writes to", (_, folder) => must(`mkdir -p ${folder}; mkfifo ${folder}/spec.json`)],
      ["a folder", (_, folder) => must(`mkdir -p ${folder}/spec.json`)],
      [
        "a link in the place of its folder",
        (id, folder) => write(`${folder}.real/spec.json`, spec(id)).then(() => must(`ln -s ${folder}.real ${folder}`)),
      ],
      [
        "a folder that others may write to",
        (id, folder) => write(`${folder}/spec.json`, spec(id)).then(() => must(`chmod 777 ${folder}`)),
      ],
      [
        "more than a spec is long",
        (id, folder) =>
          write(`${folder}/spec.json`, spec(id)).then(() =>
            must(`head -c 3000000 /dev/zero | tr '\\0' ' ' >> ${folder}/spec.json`),
          ),
      ],
      ["another id", (_, folder) => write(`${folder}/spec.json`, spec(newOperation()))],
      [
        "a kind that is not on the list",
        (id, folder) => write(`${folder}/spec.json`, spec(id, { kind: "shell.run", input: { argv: ["id"] } })),
      ],
      [
        "a kind that every object has",
        (id, folder) => write(`${folder}/spec.json`, spec(id, { kind: "constructor", input: {} })),
      ],
      [
        "more than the kind takes",
        (id, folder) => write(`${folder}/spec.json`, spec(id, { input: { description: "x", hooks: ["id"] } })),
      ],
      [
        "a snapshot that leads elsewhere",
        (id, folder) =>
          write(`${folder}/spec.json`, spec(id, { kind: "updates.rollback", input: { snapshotId: "../../../tmp/x" } })),
      ],
      [
        "an option for a package",
        (id, folder) =>
          write(
            `${folder}/spec.json`,
            spec(id, {
              kind: "updates.apply",
              input: {
                request: { type: "packages", isSecurityOnly: false, names: ["-oDPkg::Pre-Invoke::=id"] },
                takesSnapshot: false,
                isGuarded: false,
              },
            }),
          ),
      ],
      ["what is not JSON", (_, folder) => write(`${folder}/spec.json`, "{")],
    ])("takes over nothing of %s", { timeout: 60_000 }, async (_, prepare) => {
      const id = newOperation();
      await prepare(id, `${asked}/${id}`);
      await leavesAlone(id);
    });

    it("takes over nothing through a link in the place of all of them", async () => {
      const id = newOperation();
      await write(`${asked}/${id}/spec.json`, spec(id));
      await must(`mv ${asked} ${asked}.real; ln -s ${asked}.real ${asked}`);
      try {
        await leavesAlone(id);
      } finally {
        await must(`rm ${asked}; mv ${asked}.real ${asked}`);
      }
    });

    it("does what it has taken over, whatever becomes of it", async () => {
      const id = newOperation();
      await write(`${asked}/${id}/spec.json`, spec(id));
      await open(id);
      const before = [await rootsFile(id, "spec.json"), await rootsFile(id, "state.json")];
      expect(before[1]).toContain("done");
      await write(`${asked}/${id}/spec.json`, spec(id, { input: { description: "swapped" } }));
      await must(`rm -f ${asked}/${id}/state.json`);
      await open(id);
      expect([await rootsFile(id, "spec.json"), await rootsFile(id, "state.json")]).toEqual(before);
    });

    it("takes over one of two specs that change places all the time, whole", { timeout: 120_000 }, async () => {
      const ids = Array.from({ length: 5 }, newOperation);
      for (const id of ids) {
        await write(`${asked}/${id}/a`, spec(id, { input: { description: "a" } }));
        await write(`${asked}/${id}/b`, spec(id, { kind: "shell.run", input: { argv: ["id"] } }));
        await hostile(
          `cd ${asked}/${id}; (i=0; while [ $i -lt 4000 ]; do cp a spec.new; mv spec.new spec.json; ln -sf ${secret} spec.json; cp b spec.new; mv spec.new spec.json; i=$((i+1)); done) & loop=$!; systemctl start --no-ask-password steward-task@${id}.service || true; kill $loop`,
        );
        const text = await rootsFile(id, "spec.json");
        if (text !== undefined)
          expect(JSON.parse(text)).toMatchObject({ id, kind: "snapshots.create", input: { description: "a" } });
      }
    });

    it("goes on from no record but its own", async () => {
      const id = newOperation();
      await write(`${asked}/${id}/spec.json`, spec(id));
      const forged = {
        status: "running",
        percent: 50,
        step: "",
        startedAt: 1,
        finishedAt: null,
        phase: { snapshotId: "20000101-000000" },
        result: null,
        error: null,
      };
      await write(`${asked}/${id}/state.json`, JSON.stringify(forged));
      await write(`${asked}/${id}/claim.1`, JSON.stringify({ pid: 1, startTicks: 1, bootId: "none" }));
      await open(id);
      const state = await stateOf(id);
      expect(state).toMatchObject({ status: "done", result: { description: "honest" } });
      expect(JSON.stringify(state)).not.toContain("20000101-000000");
      expect(await session.shell(`ls ${done}/${id}`)).toContain("claim.2");
    });

    it.each([
      [
        "a claim of a process that is there",
        async (folder: string) => {
          const bootId = (await session.shell("cat /proc/sys/kernel/random/boot_id")).trim();
          const startTicks = Number((await session.shell("sed 's/.*) //' /proc/1/stat")).split(" ")[19]);
          await write(`${folder}/claim.1`, JSON.stringify({ pid: 1, startTicks, bootId }));
        },
      ],
      ["more claims than there are attempts", (folder: string) => write(`${folder}/claim.999999999`, "{}")],
      [
        "an end",
        (folder: string) =>
          write(
            `${folder}/state.json`,
            JSON.stringify({
              status: "done",
              percent: 100,
              step: "",
              startedAt: 1,
              finishedAt: 1,
              phase: null,
              result: {},
              error: null,
            }),
          ),
      ],
    ] as const)("does nothing for %s that was forged, and no more than that", async (_, forge) => {
      const id = newOperation();
      await write(`${asked}/${id}/spec.json`, spec(id));
      await forge(`${asked}/${id}`);
      await leavesAlone(id);
    });
  });

  describe("of what is asked", () => {
    const honest = JSON.stringify({ ask: "packages.restart_needs", input: {} });

    it("answers what is asked honestly, to the service alone", async () => {
      const id = newAsk();
      await write(`${asks}/${id}.json`, honest);
      expect(await open(id)).toMatchObject({ exitCode: 0 });
      expect(JSON.parse((await answerOf(id)) ?? "null")).toMatchObject({
        output: { requiresReboot: expect.any(Boolean) },
      });
      expect((await session.shell(`stat -c '%a %U %G' ${answers}/${id}.json`)).trim()).toBe("640 root steward");
      // Once: what is put in its place is nobody's ask.
      const before = await answerOf(id);
      await write(`${asks}/${id}.json`, JSON.stringify({ ask: "snapshots.backends", input: {} }));
      await open(id);
      expect(await answerOf(id)).toBe(before);
    });

    it.each<[string, (path: string) => Promise<unknown>]>([
      ["a link", (path) => write(`${asks}/other`, honest).then(() => must(`ln -s other ${path}`))],
      ["a link to what only root may read", (path) => must(`ln -s ${secret} ${path}`)],
      ["a second name", (path) => write(path, honest).then(() => must(`ln ${path} ${path}.other`))],
      ["a pipe", (path) => must(`mkfifo ${path}`)],
      ["a socket's or a folder's name", (path) => must(`mkdir ${path}`)],
      ["more than an ask is long", (path) => must(`head -c 5000000 /dev/zero | tr '\\0' ' ' > ${path}`)],
      ["nothing", () => Promise.resolve()],
    ])("gives no answer to %s", async (_, prepare) => {
      const id = newAsk();
      await prepare(`${asks}/${id}.json`);
      await open(id);
      expect(await answerOf(id)).toBeUndefined();
    });

    it("gives no answer through a link in the place of all asks, nor out of a folder that others may write to", async () => {
      for (const [put, back] of [
        [`mv ${asks} ${asks}.real; ln -s ${asks}.real ${asks}`, `rm ${asks}; mv ${asks}.real ${asks}`],
        [`chmod 777 ${asks}`, `chmod 700 ${asks}`],
      ] as const) {
        const id = newAsk();
        await write(`${asks}/${id}.json`, honest);
        await must(put);
        try {
          await open(id);
          expect(await answerOf(id)).toBeUndefined();
        } finally {
          await must(back);
        }
      }
    });

    it.each<[string, unknown]>([
      ["what is not on the list", { ask: "shell.run", input: { argv: ["id"] } }],
      ["what every object has", { ask: "constructor", input: {} }],
      ["more than there is to ask", { ask: "packages.refresh", input: { option: "-o" } }],
      ["more than an ask has", { ask: "packages.restart_needs", input: {}, env: { PATH: "/tmp" } }],
      ["a snapshot that leads elsewhere", { ask: "snapshots.diff", input: { backend: "packages", id: "../../etc" } }],
      ["a backend that is none", { ask: "snapshots.list", input: { backend: "../x" } }],
      ["a fix of another check", { ask: "fix.steps", input: { check_id: "disk_space", fix_id: "vacuum_journal" } }],
      ["a fix that is none", { ask: "fix.steps", input: { check_id: "disk_space", fix_id: "run_anything" } }],
      [
        "a plugin of the service's own",
        {
          ask: "plugin.run",
          input: { path: "/var/lib/steward/evil", digest: "0".repeat(64), args: [], timeoutMs: 1000 },
        },
      ],
      [
        "a plugin beside the folders of plugins",
        {
          ask: "plugin.run",
          input: {
            path: "/etc/steward/plugins/../../../var/lib/steward/evil",
            digest: "0".repeat(64),
            args: [],
            timeoutMs: 1000,
          },
        },
      ],
      [
        "a check of the settings, whose program is for a user without rights",
        { ask: "checks.run", input: { check_ids: ["who"] } },
      ],
      ["what is of no kind", ["packages.refresh"]],
    ])("refuses %s", async (_, request) => {
      await must(
        "mkdir -p /var/lib/steward/evil; printf '#!/bin/sh\\ntouch /root/evil\\n' > /var/lib/steward/evil/run; chmod 755 /var/lib/steward/evil/run",
      );
      const id = newAsk();
      await write(`${asks}/${id}.json`, JSON.stringify(request));
      await open(id);
      expect(JSON.parse((await answerOf(id)) ?? "null")).toMatchObject({ error: { message: expect.any(String) } });
    });

    it("works on no more than some at a time", { timeout: 120_000 }, async () => {
      const ids = Array.from({ length: 12 }, newAsk);
      for (const id of ids) await write(`${asks}/${id}.json`, honest);
      await hostile(
        `systemctl start --no-block --no-ask-password ${ids.map((id) => `steward-task@${id}.service`).join(" ")}`,
      );
      for (const id of ids) await open(id);
      const texts = await Promise.all(ids.map(answerOf));
      for (const text of texts) expect(text).toMatch(/^\{"(output|error)"/);
    });
  });

  describe("of plugins that run as root", () => {
    const list = "/var/lib/steward-tasks/confirmed-plugins";
    const steward = (...argv: readonly string[]) =>
      session.host.exec([...installedPrograms, "plugins", "confirm", ...argv], { allowFailure: true });
    /** What root did: the plugin leaves a file for each argument but one. */
    const ran = async (): Promise<string> => session.shell("cd /root; ls -d ran-* 2>/dev/null || true");
    const ask = async (name: "plugin.run" | "plugin.call", folder: string, digest: string, rest: object) => {
      const id = newAsk();
      const input = { path: `${pluginDir}/${folder}`, digest, timeoutMs: 10_000, ...rest };
      await write(`${asks}/${id}.json`, JSON.stringify({ ask: name, input }));
      await open(id);
      return JSON.parse((await answerOf(id)) ?? "null") as unknown;
    };
    const program = '#!/bin/sh\n[ "$1" = none ] || touch "/root/ran-$1"\n';
    const permissions = "permissions: { user: root, write: [/root] }";
    const digests: Record<string, string> = {};
    const roles = {
      commanding: [],
      checking: ["type: check"],
      hooking: ["type: hook", "hook: { events: [post_update, pre_update] }"],
    } as const;

    beforeAll(async () => {
      await session.host.exec(["rm", "-f", "/etc/steward/config.yaml"]);
      for (const [name, role] of Object.entries(roles)) {
        await writePlugin(session, name, program, [...role, permissions]);
        digests[name] = (await callPlugin(session, name, { args: ["none"] })).digest ?? "";
      }
      expect(Object.values(digests)).toEqual(Object.keys(roles).map(() => expect.stringMatching(/^[0-9a-f]{64}$/)));
    });

    it("runs none that root has not confirmed, whatever the service says is enabled", {
      timeout: 120_000,
    }, async () => {
      const enabled = Object.entries(digests).map(([name, digest]) => {
        const path = `${pluginDir}/${name}`;
        return { name, path, digest, enabledAt: 1_760_000_000_000 };
      });
      const kept = await must("cat /var/lib/steward/enabled.json 2>/dev/null || true");
      await write("/var/lib/steward/enabled.json", JSON.stringify({ plugins: enabled }));
      for (const [name, rest] of [
        ["commanding", { args: ["evil"] }],
        ["commanding", { args: [] }],
      ] as const)
        expect(await ask("plugin.run", name, digests[name] ?? "", rest)).toMatchObject({
          error: { kind: "PluginNotRun", message: expect.stringContaining("sudo steward plugins confirm commanding") },
        });
      for (const name of ["checking", "hooking"])
        expect(await ask("plugin.call", name, digests[name] ?? "", {})).toMatchObject({
          error: { kind: "PluginNotRun", message: expect.stringContaining(`sudo steward plugins confirm ${name}`) },
        });
      // Nor in the process of an operation, which calls hooks when it ends.
      const id = newOperation();
      const input = {
        request: { type: "packages", isSecurityOnly: false },
        takesSnapshot: false,
        isGuarded: false,
      };
      await write(`${asked}/${id}/spec.json`, spec(id, { kind: "updates.apply", input }));
      await open(id);
      expect(await stateOf(id)).toMatchObject({ status: expect.stringMatching(/done|failed/) });
      expect(await ran()).toBe("");
      await write("/var/lib/steward/enabled.json", kept === "" ? '{"plugins":[]}' : kept);
    });

    it("lets nobody but root say which", async () => {
      const denied = async (line: string): Promise<void> => {
        expect({ line, code: (await hostile(line)).exitCode === 0 }).toEqual({ line, code: false });
      };
      await steward("commanding", "--yes");
      await denied(`touch ${list}/x`);
      await denied(`for f in ${list}/*; do echo x > "$f"; done`);
      await denied(`mv ${list} ${list}.old`);
      await denied(`${installedPrograms.join(" ")} plugins confirm checking --yes`);
      expect(await hostile(`cat ${list}/*.json`)).toMatchObject({
        exitCode: 0,
        stdout: expect.stringContaining("commanding"),
      });
    });

    it("runs what root has confirmed, as what it is, until it changes or is revoked", {
      timeout: 120_000,
    }, async () => {
      expect(await steward("commanding", "--yes")).toMatchObject({ exitCode: 0 });
      expect(await steward("checking", "--yes")).toMatchObject({ exitCode: 0 });
      expect((await steward()).stdout).toMatch(/checking .*\n(.*\n)*commanding /);
      const run = () => ask("plugin.run", "commanding", digests["commanding"] ?? "", { args: ["asked"] });
      expect(await run()).toMatchObject({ output: { exitCode: 0 } });
      expect(await ran()).toBe("ran-asked\n");
      // A check has no arguments but those of its manifest.
      const check = digests["checking"] ?? "";
      expect(await ask("plugin.run", "checking", check, { args: ["evil"] })).toMatchObject({
        error: { message: "it is a check" },
      });
      expect(await ask("plugin.call", "checking", check, { args: ["evil"] })).toMatchObject({
        error: { message: expect.stringContaining("must NOT have additional properties") },
      });
      expect(await ask("plugin.call", "commanding", digests["commanding"] ?? "", {})).toMatchObject({
        error: { message: "it is a command" },
      });
      expect(await ran()).toBe("ran-asked\n");
      await session.shell("rm /root/ran-asked");
      expect(await steward("commanding", "--revoke")).toMatchObject({ exitCode: 0 });
      expect(await run()).toMatchObject({ error: { kind: "PluginNotRun" } });
      await steward("commanding", "--yes");
      await session.shell(`echo '# changed' >> ${pluginDir}/commanding/run`);
      const { digest: other = "" } = await callPlugin(session, "commanding", { args: ["none"] });
      expect(await ask("plugin.run", "commanding", other, { args: ["evil"] })).toMatchObject({
        error: { message: expect.stringContaining("has not confirmed it as it is now") },
      });
      expect(await ran()).toBe("");
      await session.shell(`rm -r ${pluginDir}`);
    });
  });

  it("keeps the way back, whatever the service makes in its folder", async () => {
    await must("btrfs subvolume create /var/lib/steward/sub; touch /var/lib/steward/sub/x");
    try {
      const id = newAsk();
      await write(`${asks}/${id}.json`, JSON.stringify({ ask: "snapshots.backends", input: {} }));
      await open(id);
      const names = ["snapper", "packages"].map((name) => expect.objectContaining({ name }));
      expect(JSON.parse((await answerOf(id)) ?? "null")).toMatchObject({ output: { backends: names } });
    } finally {
      await session.shell("btrfs subvolume delete /var/lib/steward/sub");
    }
  });

  it("does nothing at all by settings that others than root can change", async () => {
    const file = "/etc/steward/config.yaml";
    await session.host.writeFile(file, "{}\n");
    for (const [change, back] of [
      [`chown steward ${file}`, `chown root ${file}`],
      [`chmod 666 ${file}`, `chmod 644 ${file}`],
    ] as const) {
      await session.shell(change);
      const id = newAsk();
      await write(`${asks}/${id}.json`, JSON.stringify({ ask: "packages.restart_needs", input: {} }));
      expect((await open(id)).exitCode).not.toBe(0);
      expect(await answerOf(id)).toBeUndefined();
      await session.shell(back);
    }
    await session.shell(`rm ${file}`);
  });

  it("is not shown by root's own command line what it may not read", async () => {
    const word = "one-word-that-only-root-may-read";
    await session.host.writeFile("/root/word", `${word}\n`, 0o600);
    const listener =
      'import http.server,sys\nclass H(http.server.BaseHTTPRequestHandler):\n def do_GET(s):\n  open("/var/lib/steward/heard","a").write(str(s.headers))\n  s.send_error(500)\nhttp.server.HTTPServer(("127.0.0.1",8799),H).serve_forever()';
    await write("/var/lib/steward/listener.py", listener);
    const keyFile = "/var/lib/steward/admin.key";
    await must(`mv ${keyFile} /var/lib/steward/kept.key`);
    const unit = ["--unit=listener", "--uid=steward", "--quiet", "--", "python3", "/var/lib/steward/listener.py"];
    await session.host.exec(["systemd-run", ...unit]);
    try {
      const env = { PATH: "/usr/bin:/bin", STEWARD_STATE_DIR: "/var/lib/steward", STEWARD_LISTEN: "127.0.0.1:8799" };
      // Over its socket no key is sent at all.
      const argv = [...installedPrograms, "--url", "http://127.0.0.1:8799", "keys", "list"];
      for (const [put, reason] of [
        [`ln -s /root/word ${keyFile}`, "it is a symbolic link that is not followed"],
        [`mkfifo ${keyFile}`, "a named pipe, not a regular file"],
        [`head -c 70000 /dev/zero > ${keyFile}`, "larger than 64 KiB"],
        [`echo another-word > ${keyFile}`, "does not belong to this service"],
      ] as const) {
        await must(put);
        const { exitCode, stderr } = await session.host.exec(argv, { env, allowFailure: true, timeoutMs: 20_000 });
        expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(reason) });
        await must(`rm ${keyFile}`);
      }
      expect(await session.shell("cat /var/lib/steward/heard 2>/dev/null || true")).not.toContain(word);
    } finally {
      await session.host.exec(["systemctl", "stop", "listener.service"]);
      await must(`mv /var/lib/steward/kept.key ${keyFile}`);
    }
  });

  it("has given nothing away, and written nothing elsewhere", async () => {
    const found = await session.shell(
      `ls /root/evil /tmp/x /evil 2>/dev/null; ls -a /var/lib/steward-tasks; find /var/lib/steward /run/steward-service ! -user steward | head`,
    );
    expect(found).not.toContain("evil");
    expect(
      found
        .trim()
        .split("\n")
        .filter((line) => line.startsWith("/")),
    ).toEqual([]);
    expect(await session.host.readFile(secret)).toContain("restart_needs");
  });
});
