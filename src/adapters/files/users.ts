/** Names by number in passwd(5). */
export function parseUsers(passwd: string): ReadonlyMap<number, string> {
  const users = new Map<number, string>();
  for (const line of passwd.split("\n")) {
    const [name = "", , uid = ""] = line.split(":");
    // The first line of a number counts, as for getpwuid(3).
    if (/^\d+$/.test(uid) && name !== "" && !users.has(Number(uid))) users.set(Number(uid), name);
  }
  return users;
}
