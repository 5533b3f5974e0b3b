/**
 * Makes `npx nudge …` work inside a clone, because npm links the commands of other packages but not those of the clone.
 */
import { existsSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const target = "../../bin/nudge.cjs";

/** @param {string} root */
const linkIn = (root) => join(root, "node_modules/.bin/nudge");

/** Whether the link exists, or is not needed because this is an installed package, for which npm created it. @param {string} root */
export function commandIsLinked(root) {
  if (!existsSync(join(root, "package-lock.json"))) return true;
  try {
    return readlinkSync(linkIn(root)) === target;
  } catch {
    return false;
  }
}

/** @param {string} root */
export function linkCommand(root) {
  const link = linkIn(root);
  mkdirSync(join(link, ".."), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(target, link);
}
