import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { runSteward } from "./support/program.ts";
import { type RunningService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const steward = ({ stateDir, url }: RunningService, ...words: readonly string[]) =>
  runSteward(workspace, words, { STEWARD_STATE_DIR: stateDir, STEWARD_LISTEN: new URL(url).host });

interface Halves {
  readonly value: string;
  readonly secret: string;
}

async function signIn({ url }: RunningService, code: string): Promise<Halves> {
  const answer = await fetch(`${url}/api/v1/auth/sessions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const { secret } = (await answer.json()) as { readonly secret: string };
  const [pair = ""] = answer.headers.get("set-cookie")?.split(";") ?? [];
  return { secret, value: pair.split("=")[1] ?? "" };
}

/** Who asks in the session; the service may have another port than it had. */
async function ask({ url, port }: RunningService, { value, secret }: Halves): Promise<number> {
  const headers = { Cookie: `steward-${port}=${value}`, "X-Steward-Session": secret };
  return (await fetch(`${url}/api/v1/auth/whoami`, { headers })).status;
}

async function stop(service: RunningService): Promise<void> {
  service.kill("SIGTERM");
  await service.exit;
}

describe("sessions of a service", () => {
  it("begin with the code that steward console prints, and survive a restart, but not the loss of their file", async () => {
    const first = await startService(workspace);
    const { stateDir } = first;
    const printed = await steward(first, "console");
    expect([printed.code, printed.stderr]).toEqual([0, ""]);
    const [, address, code = ""] = /^(.*)\/console\/#code=(stc_\w+)\n$/.exec(printed.stdout) ?? [];
    expect(address).toBe(first.url);
    const page = await fetch(`${first.url}/console/`);
    expect([page.status, page.headers.get("cache-control"), page.headers.get("content-security-policy")]).toEqual([
      200,
      "no-cache",
      expect.stringContaining("frame-ancestors 'none'"),
    ]);
    const halves = await signIn(first, code);
    expect(await ask(first, halves)).toBe(200);
    await stop(first);
    const second = await startService(workspace, { stateDir });
    expect(await ask(second, halves)).toBe(200);
    expect((await steward(second, "sessions")).stdout).toContain("admin");
    await stop(second);
    for (const ending of ["", "-wal", "-shm"]) rmSync(join(stateDir, `sessions.db${ending}`), { force: true });
    const third = await startService(workspace, { stateDir });
    expect(await ask(third, halves)).toBe(401);
  });

  it("begin in the browser that steward console opens, by an address that no argument holds", async () => {
    const settings = "sessions: { idle: 10m }\nupdates: { enabled: false }\nconnectors: { discover: false }\n";
    const service = await startService(workspace, { settings });
    const [bin, runtime, seen] = [workspace.path("bin"), workspace.path("runtime"), workspace.path("seen")];
    for (const directory of [bin, runtime]) mkdirSync(directory, { mode: 0o700 });
    // The browser of this test: it keeps what it was given.
    writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\n/usr/bin/env >${seen}.env\necho "$# $1" >${seen}\necho chatter\n`);
    chmodSync(join(bin, "xdg-open"), 0o755);
    const open = (more: Readonly<Record<string, string>>) =>
      runSteward(workspace, ["console", "--open"], {
        ...{ STEWARD_STATE_DIR: service.stateDir, STEWARD_LISTEN: new URL(service.url).host },
        ...{ PATH: `relative:${bin}:/usr/bin:/bin`, XDG_RUNTIME_DIR: runtime, LANG: "C", ...more },
      });
    const printed = await open({ WAYLAND_DISPLAY: "wayland-0" });
    expect([printed.code, printed.stderr]).toEqual([0, ""]);
    const address = printed.stdout.trim();
    const given = await until("a browser", () => {
      const text = readFileSync(seen, { encoding: "utf8", flag: "a+" });
      return text.endsWith("\n") ? text : undefined;
    });
    const [name = ""] = readdirSync(runtime);
    expect([given, given.includes("stc_")]).toEqual([`1 file://${join(runtime, name)}\n`, false]);
    expect(readFileSync(`${seen}.env`, "utf8")).toMatch(/^WAYLAND_DISPLAY=/m);
    expect(readFileSync(`${seen}.env`, "utf8")).not.toContain("STEWARD_");
    expect(statSync(join(runtime, name)).mode & 0o777).toBe(0o600);
    const [, target = ""] = /content="0; url=([^"]+)"/.exec(readFileSync(join(runtime, name), "utf8")) ?? [];
    expect(target).toBe(address);
    expect(await ask(service, await signIn(service, target.split("#code=")[1] ?? ""))).toBe(200);
    const [session] = (await createClient({ url: service.url, key: service.adminKey }).listSessions()).sessions;
    expect(Date.parse(session?.idles_out_at ?? "") - Date.parse(session?.last_used_at ?? "")).toBe(600_000);

    const without = await open({});
    expect([without.code, without.stdout]).toEqual([2, expect.stringContaining("#code=stc_")]);
    expect(without.stderr).toMatch(
      /^steward: cannot open a browser: there is no desktop here.*\(open the address above/,
    );
  });
});
