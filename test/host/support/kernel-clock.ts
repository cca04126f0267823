import { tmpdir } from "node:os";
import { join } from "node:path";
import { noLog, runCommand } from "../commands.ts";
import { withLock } from "../lock.ts";

/**
 * Reads what the kernel believes of its clock (adjtimex(2)), and sets only that: the time itself stays. `struct timex` begins
 * with modes, offset, freq, maxerror, esterror, status; 4, 8 and 16 are the bits of the last three in modes.
 */
const program = `
import ctypes, struct, sys
adjtimex = ctypes.CDLL(None, use_errno=True).adjtimex
def call(modes, maxerror=0, esterror=0, status=0):
    timex = ctypes.create_string_buffer(struct.pack("<I4xqqqqi", modes, 0, 0, maxerror, esterror, status), 256)
    if adjtimex(timex) < 0:
        raise OSError(ctypes.get_errno(), "adjtimex")
    return struct.unpack_from("<I4xqqqqi", timex.raw)[3:6]
if len(sys.argv) > 1:
    call(4 | 8 | 16, *map(int, sys.argv[1:]))
print(*call(0))
`;

const unsynchronised = ["16000000", "16000000", "64"];
const synchronised = ["1000", "1000", "0"];

const adjust = async (words: readonly string[]): Promise<readonly string[]> =>
  (await runCommand(["python3", "-c", program, ...words])).stdout.trim().split(" ");

/**
 * Has the kernel of the machine believe that its clock is right, or that it is not; what it believed before is given back. All
 * guests share that kernel, so one test at a time.
 */
export function withKernelClock(
  work: (clock: { readonly believe: (isSynchronised: boolean) => Promise<void> }) => Promise<void>,
): Promise<void> {
  return withLock(join(tmpdir(), "steward-kernel-clock.lock"), noLog, async () => {
    const before = await adjust([]);
    try {
      await work({
        async believe(isSynchronised) {
          await adjust(isSynchronised ? synchronised : unsynchronised);
        },
      });
    } finally {
      await adjust(before);
    }
  });
}
