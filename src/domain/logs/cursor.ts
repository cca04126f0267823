/** The parts of a cursor as sd_journal_get_cursor(3) makes it: hexadecimal all of them. */
const parts: Readonly<Record<string, RegExp>> = {
  s: /^[0-9a-f]{32}$/i,
  i: /^[0-9a-f]{1,16}$/i,
  b: /^[0-9a-f]{32}$/i,
  m: /^[0-9a-f]{1,16}$/i,
  t: /^[0-9a-f]{1,16}$/i,
  x: /^[0-9a-f]{1,16}$/i,
};

/** Whether a text is the cursor of an entry. Those of other programs are not: all six parts are needed. */
export function isCursor(text: string): boolean {
  const given = text.split(";").map((part) => [part.slice(0, 1), part] as const);
  const byName = new Map(given);
  const names = Object.keys(parts);
  if (given.length !== names.length || byName.size !== names.length) return false;
  return names.every((name) => {
    const part = byName.get(name);
    return part?.startsWith(`${name}=`) === true && parts[name]?.test(part.slice(2)) === true;
  });
}
