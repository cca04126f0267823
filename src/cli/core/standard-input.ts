/** The most that the service accepts. */
const maxInputBytes = 256 * 1024;

/** All of standard input; undefined at a terminal. @throws Error when it is too long or not UTF-8. */
export async function readInput(
  stdin: AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean },
): Promise<string | undefined> {
  if (stdin.isTTY) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > maxInputBytes)
      throw new Error(`cannot hand standard input on: it is longer than ${maxInputBytes} bytes`);
    chunks.push(bytes);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    throw new Error("cannot hand standard input on: it is not UTF-8 text", { cause: error });
  }
}
