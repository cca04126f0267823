import fc from "fast-check";
import { expect, it } from "vitest";
import { parseHistory } from "./history.ts";

const text = `
Start-Date: 2026-01-31  12:00:00
Commandline: apt-get install -y tmux
Requested-By: anna (1000)
Install: libevent-core-2.1-7:amd64 (2.1.12-stable-8, automatic), tmux:amd64 (3.3a-3)
Upgrade: libc6:amd64 (2.36-9, 2.36-10), g++:amd64 (4:12.1, 4:12.2)
End-Date: 2026-01-31  12:00:05

Start-Date: 2026-02-01  00:00:00
Commandline: apt-get purge tmux
Purge: tmux:amd64 (3.3a-3)
Error: Sub-process /usr/bin/dpkg returned an error code (1)
`;

it("apt's history log is parsed", () => {
  const [first, second, ...others] = parseHistory(text);
  expect(others).toEqual([]);
  expect(first).toMatchObject({
    startedAt: new Date(2026, 0, 31, 12, 0, 0).getTime(),
    endedAt: new Date(2026, 0, 31, 12, 0, 5).getTime(),
    commandLine: "apt-get install -y tmux",
    requestedBy: "anna (1000)",
    error: undefined,
  });
  const amd64 = { architecture: "amd64", isAutomatic: false };
  expect(first?.packages).toEqual([
    {
      ...amd64,
      name: "libevent-core-2.1-7",
      action: "install",
      from: undefined,
      to: "2.1.12-stable-8",
      isAutomatic: true,
    },
    { ...amd64, name: "tmux", action: "install", from: undefined, to: "3.3a-3" },
    { ...amd64, name: "libc6", action: "upgrade", from: "2.36-9", to: "2.36-10" },
    { ...amd64, name: "g++", action: "upgrade", from: "4:12.1", to: "4:12.2" },
  ]);
  expect(second).toMatchObject({
    endedAt: undefined,
    error: "Sub-process /usr/bin/dpkg returned an error code (1)",
    packages: [{ ...amd64, name: "tmux", action: "purge", from: "3.3a-3", to: undefined }],
  });
});

it("apt's history log may have damaged entries, which are left out, and any text", () => {
  expect(parseHistory("Start-Date: yesterday\nInstall: a:amd64 (1)\n\nInstall: b:amd64 (1)\n")).toEqual([]);
  const line = fc.oneof(
    fc.constantFrom("Start-Date: 2026-01-31  12:00:00", "Install: a:b (1", "Upgrade: (,), a:b ()", ""),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
      for (const { startedAt, packages } of parseHistory(lines.join("\n"))) {
        expect(Number.isFinite(startedAt)).toBe(true);
        for (const { name } of packages) expect(name).not.toBe("");
      }
    }),
  );
});
