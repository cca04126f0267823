import { expect, it } from "vitest";
import { findUnavailable, HostUnavailable } from "./host-unavailable.ts";

const path = "/var/lib/steward/keys.db";
const failure = (members: object): Error => Object.assign(new Error("write"), members);

it.each([
  [{ code: "ENOSPC", errno: -28, path }, "no space left on /var/lib/steward", "disk space"],
  [{ code: "ENOSPC", syscall: "write" }, "no space left on the file system", "disk space"],
  [{ code: "ERR_SQLITE_ERROR", errcode: 13, path }, "no space left on /var/lib/steward", "disk space"],
  [{ code: "Unknown system error -122", errno: -122, path }, "disk quota exceeded on /var/lib/steward", "disk quota"],
  [{ code: "EROFS", path: "/tmp/new", dest: path }, "/var/lib/steward is read-only", "writable file system"],
  [{ code: "ERR_SQLITE_ERROR", errcode: 8 | (1 << 8), path }, "/var/lib/steward is read-only", "writable file system"],
  [{ code: "EIO", path: "/file" }, "input/output error on /", "working disk"],
  [
    { code: "ERR_SQLITE_ERROR", errcode: 10 | (3 << 8), path },
    "input/output error on /var/lib/steward",
    "working disk",
  ],
  [{ code: "ERR_SQLITE_ERROR", errcode: 14, path }, "a database file in /var/lib/steward", "database file"],
  [{ code: "EMFILE", path }, "the process has too many open files", "file descriptors"],
  [{ code: "ENFILE", path }, "the host has too many open files", "file descriptors"],
])("the error %j is reported as: %s", (members, message, missing) => {
  const error = failure(members);
  const caused = new Error("cannot do it", { cause: new Error("nor this", { cause: error }) });
  for (const each of [error, caused]) {
    const found = findUnavailable(each);
    expect(found?.message.startsWith(message)).toBe(true);
    // A remedy in parentheses.
    expect(found?.message).toMatch(/ \(.*\)$/);
    expect(found).toMatchObject({ details: { missing, retryable: true }, cause: each });
  }
});

it("a HostUnavailable of an adapter is passed on as it is", () => {
  const said = new HostUnavailable("the system bus does not answer", { missing: "systemd", retryable: false });
  expect(findUnavailable(new Error("cannot ask", { cause: said }))).toBe(said);
});

it.each([
  failure({ code: "ENOENT", path }),
  failure({ code: "ERR_SQLITE_ERROR", errcode: 11, path }),
  failure({ code: "toString" }),
  new Error("ENOSPC: in words alone"),
  "ENOSPC",
  undefined,
])("the error %s is not reported as a host that is unavailable", (error) => {
  expect(findUnavailable(error)).toBeUndefined();
});

it("an error whose cause is itself does not hang findUnavailable", () => {
  const round = new Error("a");
  round.cause = round;
  expect(findUnavailable(round)).toBeUndefined();
});
