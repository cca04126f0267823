/**
 * Whether entries of a namespace of the journal are wanted.
 * @param wanted as `journalctl --namespace` takes it: a name, `+` and a name for that one and the default one, `*` for all; undefined:
 * the default one.
 * @param name empty for the default one.
 */
export function isInNamespace(wanted: string | undefined, name: string): boolean {
  if (wanted === "*") return true;
  if (wanted?.startsWith("+") === true) return name === "" || name === wanted.slice(1);
  return name === (wanted ?? "");
}
