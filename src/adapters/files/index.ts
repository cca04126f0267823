export { FileUnreadable, isOpenToOthers, readRegularFile, readTextFile } from "./regular-file.ts";
export { readSecretFile } from "./secret.ts";
