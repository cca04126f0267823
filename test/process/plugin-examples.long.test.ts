import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exec } from "#adapters/exec/index.ts";
import { createPluginFolders } from "#adapters/plugins/folders.ts";
import { parseOutput } from "#domain/health/plugin/output.ts";
import { runProgram, runSteward } from "./support/program.ts";
import { createWorkspace } from "./support/workspace.ts";

const examples = fileURLToPath(new URL("../../examples/plugins", import.meta.url));
const names = readdirSync(examples).sort();
const workspace = createWorkspace();
const parent = workspace.path("plugins");
afterAll(workspace.dispose);
beforeAll(() => {
  // As it is installed: the folder of the examples may belong to anybody.
  cpSync(examples, parent, { recursive: true });
  for (const folder of [workspace.path(), parent]) chmodSync(folder, 0o755);
});

/** Without these some tests of examples are skipped, in CI to nobody's knowledge: there that is a failure. */
const wanted = { restic: "apt-get install restic", borg: "apt-get install borgbackup" };
const isOnPath = (program: string): boolean =>
  (process.env["PATH"] ?? "").split(":").some((folder) => existsSync(join(folder, program)));
const missing = Object.entries(wanted).flatMap(([program, remedy]) =>
  isOnPath(program) ? [] : [`${program} (${remedy})`],
);
if (process.getuid?.() !== 0) missing.push("root");
if (missing.length > 0)
  process.stdout.write(`skipped: some tests of example plugins: missing: ${missing.join(", ")}\n`);
const passed = missing.length === 0 || process.env["CI"] === "true" ? "OK" : "OK \\(skipped=\\d+\\)";

const folders = () => createPluginFolders({ dirs: [parent], now: () => Date.now() });

describe("the example plugins", () => {
  it("are some of each type", async () => {
    const found = await folders().find();
    const types = found.map(({ name, loaded }) => [
      name,
      "manifest" in loaded ? loaded.manifest.role.type : loaded.fault,
    ]);
    expect(types).toEqual([
      ["backup-age", "check"],
      ["backup-repository", "check"],
      ["certificates", "command"],
      ["chat-webhook", "hook"],
    ]);
  });

  it.each(names)("%s has no fault, and passes its own test, which leaves nothing behind", async (name) => {
    const path = join(parent, name);
    const before = await folders().read(path);
    expect(await runSteward(workspace, ["plugins", "validate", path])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^${name} 1\\.0\\.0 .*: no fault\n`)),
    });
    const tested = await runProgram(workspace, ["env", "-C", path, "python3", "-B", "-m", "unittest"], {
      timeoutMs: 5 * 60_000,
    });
    const report = new RegExp(`\nRan \\d\\d? tests .*\n\n(OK|${passed})\n$`);
    expect(tested).toMatchObject({ code: 0, stderr: expect.stringMatching(report) });
    expect(await folders().read(path)).toEqual(before);
  });
});

describe("as the service starts them", () => {
  it("backup-age says what the parser of monitoring plugins reads", async () => {
    const backup = workspace.path("backup");
    mkdirSync(backup);
    const file = join(backup, "a|b=1\u001b[31m.tar");
    writeFileSync(file, "x".repeat(3000));
    const anHourAgo = Date.now() / 1000 - 3600;
    utimesSync(file, anHourAgo, anHourAgo);
    const { exitCode, stdout, stderr } = await exec([join(parent, "backup-age", "check.py"), "--dir", backup]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const { text, perfdata } = parseOutput(stdout);
    expect(text).toBe("BACKUP_AGE OK - the newest of 1 files, a?b=1?[31m.tar, is 60 m old, all are 2.93 KiB");
    expect(perfdata.malformed).toBe(0);
    expect(perfdata.values.map(({ label, value, unit }) => [label, label === "age" ? "" : value, unit])).toEqual([
      ["age", "", "s"],
      ["files", 1, ""],
      ["size", 3000, "B"],
      ["newest_size", 3000, "B"],
    ]);
  });

  it("certificates finds what openssl made", async () => {
    const folder = workspace.path("tls");
    mkdirSync(folder);
    const key = [
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-keyout",
      join(folder, "key.pem"),
    ];
    const subject = ["-subj", "/CN=a.example", "-days", "9", "-out", join(folder, "a.pem")];
    expect((await exec(["openssl", "req", "-x509", ...key, ...subject])).exitCode).toBe(0);
    const program = join(parent, "certificates", "certificates.py");
    const { exitCode, stdout } = await exec([program, "--json", folder]);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      certificates: [{ names: ["a.example"], days_left: 8, self_signed: true, paths: [join(folder, "a.pem")] }],
      problems: [],
    });
  });

  it("chat-webhook posts what a hook is told", async () => {
    const posts: unknown[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        posts.push(JSON.parse(Buffer.concat(chunks).toString()));
        response.end("ok");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const file = workspace.path("chat-webhook");
    writeFileSync(file, `http://127.0.0.1:${port}/hook\n`);
    const subject = { check_id: "disk_space", fix_id: "disk_cleanup", success: true, message: "<!here> 2 GB are free" };
    const input = `${JSON.stringify({ event: "post_fix", at: "2026-01-01T00:00:00.000Z", subject })}\n`;
    const program = join(parent, "chat-webhook", "hook.py");
    const ended = await runProgram(workspace, [program, "--address-file", file], { input });
    server.close();
    expect(ended).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(posts).toEqual([
      expect.objectContaining({
        text: expect.stringMatching(/: fix ended \(disk_space\): done\n&lt;!here&gt; 2 GB are free\n/),
      }),
    ]);
  });
});
