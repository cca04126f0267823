export { preparePrivateDirectory } from "./directory.ts";
export { isOpenToEverybody, isSticky, isWritableByOthers } from "./mode.ts";
export { FileUnreadable, readRegularFile, readTextFile } from "./regular-file.ts";
export { readSecretFile } from "./secret.ts";
export { syncDirectory, withFile, writeFileAtomic, writeFileSynced } from "./write.ts";
