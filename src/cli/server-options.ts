/** The options of commands that serve a page: where they listen, and who may connect. */

import { statSync } from "node:fs";
import { Option } from "commander";
import { UsageError } from "../errors.js";
import { readText } from "../files/open-file.js";

export const socketOption = (): Option =>
  new Option(
    "--socket <file>",
    "listen on a Unix socket that only you can connect to, instead of a port; from another machine: ssh -L PORT:FILE HOST",
  ).conflicts("port");

/** Printed after the address was opened: another browser needs another token. */
export const sayNext = (next: string): void => void process.stderr.write(`opened; for another browser: ${next}\n`);

/** The shortest token, in characters. */
const SHORTEST = 16;

/** The variable with the token of `nudge serve`. */
export const TOKEN_VARIABLE = "NUDGE_SERVE_TOKEN";

/** The token of a file, or of the environment; undefined if there is none. */
export function bearerToken(file: string | undefined): string | undefined {
  const where = file === undefined ? `$${TOKEN_VARIABLE}` : `--token-file ${file}`;
  const token = file === undefined ? process.env[TOKEN_VARIABLE] : tokenIn(file, where);
  if (token === undefined || (file === undefined && token === "")) return undefined;
  if (token.length < SHORTEST || /\s/.test(token))
    throw new UsageError(
      `${where}: expected a token of at least ${SHORTEST} characters without spaces, such as the output of: openssl rand -hex 16`,
    );
  return token;
}

function tokenIn(file: string, where: string): string {
  if (!statSync(file, { throwIfNoEntry: false })) throw new UsageError(`${where}: there is no such file`);
  if ((statSync(file).mode & 0o077) !== 0)
    throw new UsageError(`${where}: other users can read the file; change that with: chmod 600 ${file}`);
  return readText(file, { most: 4096 })
    .trim()
    .replace(/^Authorization: *Bearer +/i, ""); // a header for curl, which does not show it in the list of processes
}
