import { type Document, isMap, isNode, isScalar, type LineCounter } from "yaml";

/** The place of a setting in the file, or of its nearest parent. */
export function locate(
  document: Document,
  lines: LineCounter,
  path: readonly string[],
  isKey: boolean,
): { line: number; column: number } | undefined {
  for (let depth = path.length; depth >= 0; depth -= 1) {
    const node = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true);
    const parent =
      depth === 0 ? undefined : depth === 1 ? document.contents : document.getIn(path.slice(0, depth - 1), true);
    const key = isMap(parent)
      ? parent.items.find((item) => isScalar(item.key) && String(item.key.value) === path[depth - 1])?.key
      : undefined;
    const chosen = isKey && depth === path.length && isNode(key) ? key : (node ?? key);
    const offset = isNode(chosen) ? chosen.range?.[0] : undefined;
    if (offset !== undefined) {
      const { line, col } = lines.linePos(offset);
      return { line, column: col };
    }
  }
  return undefined;
}
