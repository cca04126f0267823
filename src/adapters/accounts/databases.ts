import type { Account } from "#domain/ports/accounts.ts";
import { latestMs } from "#kernel/clock.ts";

const dayMs = 24 * 60 * 60 * 1000;
const largestId = 0xffff_ffff;

const rowsOf = (text: string, least: number): readonly (readonly string[])[] =>
  text
    .split("\n")
    .map((line) => line.split(":"))
    .filter((fields) => fields.length >= least && fields[0] !== "");

const idOf = (text: string | undefined): number | undefined => {
  const id = Number(text);
  return /^\d{1,10}$/.test(text ?? "") && id <= largestId ? id : undefined;
};

export interface PasswdRow extends Pick<Account, "name" | "uid" | "gid" | "comment" | "home" | "shell"> {}

/** passwd(5). */
export const parsePasswd = (text: string): readonly PasswdRow[] =>
  rowsOf(text, 7).flatMap(([name = "", , uidText, gidText, gecos = "", home = "", shell = ""]) => {
    const [uid, gid] = [idOf(uidText), idOf(gidText)];
    if (uid === undefined || gid === undefined) return [];
    return [{ name, uid, gid, comment: gecos.replace(/,+$/, ""), home, shell }];
  });

/** group(5). @returns names of groups, the primary one first, by user. */
export function parseGroups(text: string): (user: Pick<PasswdRow, "name" | "gid">) => readonly string[] {
  const byId = new Map<number, string>();
  const byMember = new Map<string, string[]>();
  for (const [name = "", , gidText, members = ""] of rowsOf(text, 4)) {
    const gid = idOf(gidText);
    if (gid === undefined) continue;
    if (!byId.has(gid)) byId.set(gid, name);
    for (const member of members.split(",").filter((each) => each !== ""))
      byMember.set(member, [...(byMember.get(member) ?? []), name]);
  }
  return ({ name, gid }) => [...new Set([byId.get(gid) ?? String(gid), ...(byMember.get(name) ?? [])])];
}

/** shadow(5), without anything of the hashes. */
export const parseShadow = (text: string): ReadonlyMap<string, Pick<Account, "password" | "expiresAt">> =>
  new Map(
    rowsOf(text, 8).map(([name = "", hash = "", , , , , , expiry = ""]) => {
      const password = hash === "" ? "none" : /^[!*]/.test(hash) ? "locked" : "set";
      const expiresAt = /^\d{1,7}$/.test(expiry) ? Number(expiry) * dayMs : null;
      return [name, { password, expiresAt: expiresAt !== null && expiresAt <= latestMs ? expiresAt : null }] as const;
    }),
  );
