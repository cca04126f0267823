import { dirname } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { installedPrograms } from "./program.ts";
import { asked, createIntruder, done, socket } from "./support/intruder.ts";
import { callPlugin, pluginDir, writePlugin } from "./support/plugins.ts";
import { describeOnHost } from "./support/session.ts";

const secret = "/root/secret.json";

/*
 * Anyone who has taken the service over is its user: may write anything below its directories, at any time, and send requests. Each
 * test does that as this user and looks at what root has made of it. The first of each kind is what is honest, so that one knows
 * that the others would have been seen to come through.
 */
describeOnHost("the privileged side", (session) => {
  const { newOperation, hostile, must, send, request, runOperation, spec, write, rootsFile, stateOf } =
    createIntruder(session);

  beforeAll(async () => {
    await session.host.writeFile(
      "/etc/steward/config.yaml",
      "health: { checks: { who: { command: [/usr/bin/touch, /root/evil] } } }\n",
    );
    await session.host.writeFile(secret, JSON.stringify({ task: "packages.restart_needs", input: {} }), 0o600);
  });

  describe("for operations", () => {
    it("carries out an honest operation", async () => {
      const id = newOperation();
      await write(`${asked}/${id}/spec.json`, spec(id));
      expect(await runOperation(id)).toEqual({ output: "done" });
      expect(await stateOf(id)).toMatchObject({ status: "done", result: { description: "honest" } });
    });

    /** Nothing of it is taken over: root has no record, so it has done nothing. */
    const leavesAlone = async (id: string): Promise<void> => {
      await runOperation(id);
      expect(await rootsFile(id, "spec.json")).toBeUndefined();
    };

    it.each<[string, (id: string, directory: string) => Promise<unknown>]>([
      [
        "a link in the place of the spec",
        (id, directory) => write(`${directory}/other`, spec(id)).then(() => must(`ln -s other ${directory}/spec.json`)),
      ],
      [
        "a link to what only root may read",
        (_, directory) => must(`mkdir -p ${directory}; ln -s ${secret} ${directory}/spec.json`),
      ],
      [
        "a second name",
        (id, directory) =>
          write(`${directory}/spec.json`, spec(id)).then(() => must(`ln ${directory}/spec.json ${directory}/other`)),
      ],
      ["a pipe that nobody writes to", (_, directory) => must(`mkdir -p ${directory}; mkfifo ${directory}/spec.json`)],
      ["a directory", (_, directory) => must(`mkdir -p ${directory}/spec.json`)],
      [
        "a link in the place of its directory",
        (id, directory) =>
          write(`${directory}.real/spec.json`, spec(id)).then(() => must(`ln -s ${directory}.real ${directory}`)),
      ],
      [
        "a directory that others may write to",
        (id, directory) => write(`${directory}/spec.json`, spec(id)).then(() => must(`chmod 777 ${directory}`)),
      ],
      [
        "more than a spec is long",
        (id, directory) =>
          write(`${directory}/spec.json`, spec(id)).then(() =>
            must(`head -c 3000000 /dev/zero | tr '\\0' ' ' >> ${directory}/spec.json`),
          ),
      ],
      ["another id", (_, directory) => write(`${directory}/spec.json`, spec(newOperation()))],
      [
        "a kind that is not on the list",
        (id, directory) => write(`${directory}/spec.json`, spec(id, { kind: "shell.run", input: { argv: ["id"] } })),
      ],
      [
        "a kind that every object has",
        (id, directory) => write(`${directory}/spec.json`, spec(id, { kind: "constructor", input: {} })),
      ],
      [
        "more than the kind takes",
        (id, directory) => write(`${directory}/spec.json`, spec(id, { input: { description: "x", hooks: ["id"] } })),
      ],
      [
        "a snapshot that leads elsewhere",
        (id, directory) =>
          write(
            `${directory}/spec.json`,
            spec(id, { kind: "updates.rollback", input: { snapshotId: "../../../tmp/x" } }),
          ),
      ],
      [
        "an option for a package",
        (id, directory) =>
          write(
            `${directory}/spec.json`,
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
      ["what is not JSON", (_, directory) => write(`${directory}/spec.json`, "{")],
    ])("accepts nothing from %s", async (_, prepare) => {
      const id = newOperation();
      await prepare(id, `${asked}/${id}`);
      await leavesAlone(id);
    });

    it("accepts nothing through a link in place of their directory", async () => {
      const id = newOperation();
      await write(`${asked}/${id}/spec.json`, spec(id));
      await must(`mv ${asked} ${asked}.real; ln -s ${asked}.real ${asked}`);
      try {
        await leavesAlone(id);
      } finally {
        await must(`rm ${asked}; mv ${asked}.real ${asked}`);
      }
    });

    it("carries out what it accepted, whatever becomes of the request", async () => {
      const id = newOperation();
      await write(`${asked}/${id}/spec.json`, spec(id));
      await runOperation(id);
      const before = [await rootsFile(id, "spec.json"), await rootsFile(id, "state.json")];
      expect(before[1]).toContain("done");
      await write(`${asked}/${id}/spec.json`, spec(id, { input: { description: "swapped" } }));
      await must(`rm -f ${asked}/${id}/state.json`);
      await runOperation(id);
      expect([await rootsFile(id, "spec.json"), await rootsFile(id, "state.json")]).toEqual(before);
    });

    it("accepts one of two specs that are swapped all the time, intact", async () => {
      const ids = Array.from({ length: 5 }, newOperation);
      for (const id of ids) {
        await write(`${asked}/${id}/a`, spec(id, { input: { description: "a" } }));
        await write(`${asked}/${id}/b`, spec(id, { kind: "shell.run", input: { argv: ["id"] } }));
        const changing = hostile(
          `cd ${asked}/${id}; while [ ! -e stop ]; do cp a spec.new; mv spec.new spec.json; ln -sf ${secret} spec.json; cp b spec.new; mv spec.new spec.json; done`,
        );
        await runOperation(id);
        await must(`touch ${asked}/${id}/stop`);
        await changing;
        const text = await rootsFile(id, "spec.json");
        if (text !== undefined)
          expect(JSON.parse(text)).toMatchObject({ id, kind: "snapshots.create", input: { description: "a" } });
      }
    });

    it("resumes from no record but its own", async () => {
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
      await runOperation(id);
      const state = await stateOf(id);
      expect(state).toMatchObject({ status: "done", result: { description: "honest" } });
      expect(JSON.stringify(state)).not.toContain("20000101-000000");
      expect(await session.shell(`ls ${done}/${id}`)).toContain("claim.2");
    });

    it.each([
      [
        "a claim of a process that is there",
        async (directory: string) => {
          const bootId = (await session.shell("cat /proc/sys/kernel/random/boot_id")).trim();
          const startTicks = Number((await session.shell("sed 's/.*) //' /proc/1/stat")).split(" ")[19]);
          await write(`${directory}/claim.1`, JSON.stringify({ pid: 1, startTicks, bootId }));
        },
      ],
      ["more claims than there are attempts", (directory: string) => write(`${directory}/claim.999999999`, "{}")],
      [
        "an end",
        (directory: string) =>
          write(
            `${directory}/state.json`,
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
    ] as const)("does nothing for %s that is forged", async (_, forge) => {
      const id = newOperation();
      await write(`${asked}/${id}/spec.json`, spec(id));
      await forge(`${asked}/${id}`);
      await leavesAlone(id);
    });
  });

  describe("for requests", () => {
    it("answers an honest request", async () => {
      expect(await request("packages.restart_needs", {})).toMatchObject({
        output: { requiresReboot: expect.any(Boolean) },
      });
    });

    it("admits the user of the service alone, and nobody can replace its socket", async () => {
      const { stdout } = await session.host.exec(["stat", "-c", "%a %U %G", dirname(socket), socket]);
      expect(stdout).toBe("710 root steward\n600 steward steward\n");
      await session.shell("id member >/dev/null 2>&1 || useradd --groups steward member");
      for (const user of ["nobody", "member"])
        expect(await send("{}\n", user)).toMatchObject({
          exitCode: 1,
          stdout: "",
          stderr: expect.stringContaining("EACCES"),
        });
      for (const line of [`rm ${socket}`, `mv ${socket} ${socket}.old`, `touch ${dirname(socket)}/x`])
        expect({ line, code: (await hostile(line)).exitCode === 0 }).toEqual({ line, code: false });
    });

    it("refuses a request that is too long", async () => {
      const { stdout } = await hostile(
        `head -c 5000000 /dev/zero | tr '\\0' ' ' | ${installedPrograms[0]} -e 'const s=require("net").connect("${socket}",()=>process.stdin.pipe(s,{end:false}));s.on("error",()=>process.exit());s.on("close",()=>process.exit());s.pipe(process.stdout)'`,
      );
      if (stdout !== "") expect(stdout).toContain("message longer than");
      expect(await request("packages.restart_needs", {})).toHaveProperty("output");
    });

    it.each<[string, { readonly task: string; readonly input: unknown }]>([
      ["what is not on the list", { task: "shell.run", input: { argv: ["id"] } }],
      ["what every object has", { task: "constructor", input: {} }],
      ["more than there is to ask", { task: "packages.refresh", input: { option: "-o" } }],
      ["a snapshot that leads elsewhere", { task: "snapshots.diff", input: { id: "../../etc" } }],
      ["a backend that is none", { task: "snapshots.list", input: { backend: "../x" } }],
      ["a fix of its choice", { task: "fix", input: { check_id: "disk_space", fix_id: "vacuum_journal" } }],
      ["the fix of a check that has none", { task: "fix", input: { check_id: "firewall" } }],
      [
        "a plugin of the service's own",
        {
          task: "plugin.run",
          input: { path: "/var/lib/steward/evil", digest: "0".repeat(64), args: [], timeoutMs: 1000 },
        },
      ],
      [
        "a plugin beside the directories of plugins",
        {
          task: "plugin.run",
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
        { task: "checks.run", input: { check_ids: ["who"] } },
      ],
    ])("refuses %s", async (_, { task, input }) => {
      await must(
        "mkdir -p /var/lib/steward/evil; printf '#!/bin/sh\\ntouch /root/evil\\n' > /var/lib/steward/evil/run; chmod 755 /var/lib/steward/evil/run",
      );
      expect(await request(task, input)).toMatchObject({ error: { message: expect.any(String) } });
    });
  });

  describe("for plugins that run as root", () => {
    const list = "/var/lib/steward-tasks/confirmed-plugins";
    const steward = (...argv: readonly string[]) =>
      session.host.exec([...installedPrograms, "plugins", "confirm", ...argv], { allowFailure: true });
    /** What root did: the plugin leaves a file for each argument but one. */
    const ran = async (): Promise<string> => session.shell("cd /root; ls -d ran-* 2>/dev/null || true");
    const call = (name: "plugin.run" | "plugin.call", directory: string, digest: string, rest: object) =>
      request(name, { path: `${pluginDir}/${directory}`, digest, timeoutMs: 10_000, ...rest });
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

    it("runs none that root has not confirmed, whatever the service has enabled", async () => {
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
        expect(await call("plugin.run", name, digests[name] ?? "", rest)).toMatchObject({
          error: { kind: "PluginNotRun", message: expect.stringContaining("sudo steward plugins confirm commanding") },
        });
      for (const name of ["checking", "hooking"])
        expect(await call("plugin.call", name, digests[name] ?? "", {})).toMatchObject({
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
      await runOperation(id);
      expect(await stateOf(id)).toMatchObject({ status: expect.stringMatching(/done|failed/) });
      expect(await ran()).toBe("");
      await write("/var/lib/steward/enabled.json", kept === "" ? '{"plugins":[]}' : kept);
    });

    it("lets nobody but root confirm one", async () => {
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

    it("runs what root confirmed, in its own role, until it changes or is revoked", async () => {
      expect(await steward("commanding", "--yes")).toMatchObject({ exitCode: 0 });
      expect(await steward("checking", "--yes")).toMatchObject({ exitCode: 0 });
      expect((await steward()).stdout).toMatch(/checking .*\n(.*\n)*commanding /);
      const run = () => call("plugin.run", "commanding", digests["commanding"] ?? "", { args: ["asked"] });
      expect(await run()).toMatchObject({ output: { exitCode: 0 } });
      expect(await ran()).toBe("ran-asked\n");
      // A check has no arguments but those of its manifest.
      const check = digests["checking"] ?? "";
      expect(await call("plugin.run", "checking", check, { args: ["evil"] })).toMatchObject({
        error: { message: "it is a check" },
      });
      expect(await call("plugin.call", "checking", check, { args: ["evil"] })).toMatchObject({
        error: { message: expect.stringContaining("must not have args") },
      });
      expect(await call("plugin.call", "commanding", digests["commanding"] ?? "", {})).toMatchObject({
        error: { message: "it is a command" },
      });
      expect(await ran()).toBe("ran-asked\n");
      await session.shell("rm /root/ran-asked");
      expect(await steward("commanding", "--revoke")).toMatchObject({ exitCode: 0 });
      expect(await run()).toMatchObject({ error: { kind: "PluginNotRun" } });
      await steward("commanding", "--yes");
      await session.shell(`echo '# changed' >> ${pluginDir}/commanding/run`);
      const { digest: other = "" } = await callPlugin(session, "commanding", { args: ["none"] });
      expect(await call("plugin.run", "commanding", other, { args: ["evil"] })).toMatchObject({
        error: { message: expect.stringContaining("has not confirmed it as it is now") },
      });
      expect(await ran()).toBe("");
      await session.shell(`rm -r ${pluginDir}`);
    });
  });

  it("does nothing with settings that others than root can change", async () => {
    const file = "/etc/steward/config.yaml";
    await session.host.writeFile(file, "{}\n");
    for (const [change, back] of [
      [`chown steward ${file}`, `chown root ${file}`],
      [`chmod 666 ${file}`, `chmod 644 ${file}`],
    ] as const) {
      await session.shell(change);
      expect(await request("packages.restart_needs", {})).toEqual({
        error: expect.objectContaining({ message: expect.stringContaining("cannot use the settings") }),
      });
      await session.shell(back);
    }
    await session.shell(`rm ${file}`);
  });

  it("learns nothing that only root may read from root's own command line", async () => {
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

  it("has disclosed nothing and written nothing elsewhere after all of this", async () => {
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
