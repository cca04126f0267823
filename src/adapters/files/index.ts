export { distributionOf, isSuse, parseOsRelease } from "./os-release.ts";
export {
  FileUnreadable,
  isExecutable,
  isOpenToEverybody,
  isSticky,
  isWritableByOthers,
  readRange,
  readRegularFile,
  readSecretFile,
  readTextFile,
  readTextOrEmpty,
} from "./regular-file.ts";
export { preparePrivateDirectory, syncDirectory, withFile, writeFileAtomic, writeFileSynced } from "./write.ts";
