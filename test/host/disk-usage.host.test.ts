import { expect, it } from "vitest";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("disk usage is measured", (session) => {
  const { shell } = session;
  const asService = "setpriv --reuid=steward --regid=steward --init-groups";
  const du = async (path: string, depth: number): Promise<ReadonlyMap<string, number>> => {
    const text = await shell(`${asService} du -x --block-size=1 --max-depth=${depth} ${path} 2>/dev/null || true`);
    const rows = text.trim().split("\n");
    return new Map(rows.map((row) => [row.slice(row.indexOf("\t") + 1), Number(row.slice(0, row.indexOf("\t")))]));
  };

  it.each([
    ["/usr/share", 2],
    ["/etc/systemd", 16],
  ])("as du measures it: %s", async (path, depth) => {
    const theirs = await du(path, depth);
    const found = await session.api.getDiskUsage({ query: { path, depth, limit: 1_000 } });
    const closed = await shell(`${asService} find ${path} -xdev -type d ! -readable -prune -print`);
    expect([found.truncated, found.unreadable.paths.toSorted()]).toEqual([
      null,
      closed.split("\n").filter(Boolean).toSorted(),
    ]);
    expect(found.bytes).toBe(theirs.get(path));
    const folders = found.largest.filter(({ type }) => type === "folder");
    expect(folders.length).toBeGreaterThan(3);
    // Where files of several names are counted depends on the order of reading.
    for (const { path: at, bytes } of folders) expect([at, bytes]).toEqual([at, theirs.get(at)]);
  });

  it("without other file systems, and with what may not be read", async () => {
    await shell("mkdir -p /srv/du/mnt /srv/du/closed && mount -t tmpfs odd /srv/du/mnt && chmod 700 /srv/du/closed");
    const found = await session.api.getDiskUsage({ query: { path: "/srv/du" } });
    expect(found.other_file_systems).toEqual({ total: 1, paths: ["/srv/du/mnt"] });
    expect(found.unreadable).toEqual({ total: 1, paths: ["/srv/du/closed"] });
    await shell("umount /srv/du/mnt && rm -r /srv/du");
    for (const path of ["/root", "/tmp", "/var/tmp"])
      expect(await refusal(session.api.getDiskUsage({ query: { path } }))).toMatchObject({ status: 503 });
    const { unreadable } = await session.api.getDiskUsage({ query: { path: "/var" } });
    expect(unreadable.paths).toContain("/var/tmp");
  });
});
