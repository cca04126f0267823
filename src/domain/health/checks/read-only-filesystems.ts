import type { FileSystems } from "#domain/ports/storage.ts";
import { listNames } from "#kernel/text.ts";
import { type BuiltInCheck, isIgnoredPath, skip } from "../check.ts";
import { unreadIn } from "../mounts.ts";

export const readOnlyFilesystemsCheck = (ports: { fileSystems: FileSystems }): BuiltInCheck => ({
  id: "read_only_filesystems",
  name: "Read-only file systems",
  category: "storage",
  severity: "critical",
  about:
    "File systems that should be writable and are not: the kernel makes one read-only after disk errors, or shuts " +
    "it down as it does with XFS. One that answers with an error, or not within seconds, fails too and is named " +
    "(`unreadable`).",
  meaning:
    "A file system that should be writable is not, or cannot even be inspected, usually because the kernel found " +
    "errors on it.",
  remedy:
    "Read the kernel log (journalctl -k), save the data, and check the disk and the file system before a remount.",
  guardedBy: "change",
  async run(settings, signal) {
    const all = await ports.fileSystems.list(signal);
    const writable = all.filter((each) => !each.isMeantReadOnly && !isIgnoredPath(each.path, settings.ignore));
    if (writable.length === 0) return skip("There is no file system that should be writable");

    const lost = writable.filter(({ isReadOnly }) => isReadOnly);
    const unread = unreadIn(writable);
    const details = {
      looked_at: writable.map(({ path }) => path),
      read_only: lost.map(({ path, device, type }) => ({ path, device, type })),
      ...unread.details,
    };
    if (lost.length === 0 && unread.names === "")
      return { status: "pass", message: "Every file system that should be writable is writable", details };
    const paths = listNames(lost.map(({ path }) => path));
    const problems = [
      ...(lost.length > 0 ? [`${paths} ${lost.length === 1 ? "is" : "are"} read-only and should not be`] : []),
      ...(unread.names === "" ? [] : [`cannot look at ${unread.names}`]),
    ];
    return { status: "fail", message: `${problems.join("; ")}: look for disk errors in the kernel log`, details };
  },
});
