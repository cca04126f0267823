import { describe, expect, it } from "vitest";
import { fakeMeasured } from "../fakes/directory-sizes.ts";
import { send, startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
const { steward, url } = useSteward(async () => {
  service = await startTestService();
  service.directorySizes.directories.set(
    "/srv",
    fakeMeasured("/srv", {
      ...{ bytes: 4_000_000, entries: 12, truncated: "time" },
      largest: [
        { path: "/srv/a", isDirectory: true, bytes: 3_000_000, entries: 9, isComplete: false },
        { path: "/srv/x\u001b[2J\ny", isDirectory: false, bytes: 1_000_000, entries: 0, isComplete: true },
      ],
      written: [{ path: "/srv/a/log", bytes: 4096, modifiedAt: 1_700_000_000_000 }],
      unreadable: { total: 2, paths: ["/srv/a/x", "/srv/a/y"] },
      otherFileSystems: { total: 1, paths: ["/srv/mnt"] },
    }),
  );
  return service;
});

const read = (query: string, scope: string) =>
  send(service, { path: `/api/v1/system/disk-usage?path=/srv${query}`, key: service.key([scope]) });

describe("disk usage", () => {
  it("is answered with what could not be read, for a scope of its own", async () => {
    const { json } = await read("&limit=1", "disk-usage:read");
    expect(json).toEqual({
      ...{ path: "/srv", bytes: 4_000_000, entries: 12, truncated: "time", duration_ms: 0 },
      largest: [{ path: "/srv/a", type: "folder", bytes: 3_000_000, entries: 9, is_complete: false }],
      written_lately: [{ path: "/srv/a/log", bytes: 4096, modified_at: "2023-11-14T22:13:20.000Z" }],
      unreadable: { total: 2, paths: ["/srv/a/x", "/srv/a/y"] },
      other_file_systems: { total: 1, paths: ["/srv/mnt"] },
    });
    expect((await read("", "system:read")).status).toBe(403);
  });

  it("names directories that give no answer", async () => {
    const found = fakeMeasured("/srv", { unreadable: { total: 1, paths: ["/srv/slow"] }, silent: ["/srv/slow"] });
    service.directorySizes.directories.set("/srv", found);
    expect((await read("", "disk-usage:read")).json).toMatchObject({
      unreadable: { total: 1 },
      not_shown: [{ what: "/srv/slow", reason: "it gives no answer" }],
    });
    expect((await steward("du /srv")).err).toContain("not shown: /srv/slow: it gives no answer\n");
  });

  it("is listed by number of entries too", async () => {
    const { out } = await steward("du /srv --sort entries");
    expect(out).toMatch(/ENTRIES/);
    expect(out).toMatch(/2\.9 MiB +9 +75 %/);
  });

  it.each(["&depth=17", "&depth=x", "&limit=0", "&sort=size"])("is refused with %s", async (query) => {
    expect((await read(query, "disk-usage:read")).status).toBe(400);
  });

  it("is not an error in the log where its client goes away", async () => {
    const { promise: started, resolve: begins } = Promise.withResolvers<void>();
    service.directorySizes.measure = async (_path, _options, signal) => {
      begins();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw signal.reason;
    };
    const leaving = new AbortController();
    const headers = { "X-API-Key": service.admin };
    const asked = fetch(`${url()}/api/v1/system/disk-usage?path=/srv`, { headers, signal: leaving.signal });
    await started;
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await expect.poll(() => service.logLines().find(({ msg }) => msg === "request")).toMatchObject({ status: 503 });
    expect(service.logLines().filter(({ level }) => level === "error" || level === "warn")).toEqual([]);
  });

  it("is printed with bars", async () => {
    const { code, out, err } = await steward("du /srv");
    expect(code).toBe(0);
    expect(out).toMatch(/^≥ 2\.9 MiB +75 % +█{15}░{5} +\/srv\/a\/$/m);
    expect(out).toMatch(/^977 KiB +25 % +█{5}░{15} +\/srv\/x/m);
    expect(out + err).not.toContain("\u001b");
    expect(err).toMatch(/no time.*\n.*not read: 2 directories.*\n.*other file systems.*\/srv\/mnt/);
    const json = await steward("du /srv --json");
    expect(JSON.parse(json.out)).toMatchObject({ bytes: 4_000_000 });
  });
});
