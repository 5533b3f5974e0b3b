/**
 * The API reference, docs/reference/api: every export of the package and its subpaths, with its type and its comment,
 * from the declaration files of tsc. TypeDoc needs the compiler's JavaScript interface, which TypeScript 7 does not
 * have, so this reads the declarations as text. They have a fixed form, because one program writes them.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** @typedef {{ name: string, kind: string, doc: string, code: string, file: string }} Exported one name that a file exports */

/** The statements of a declaration file, each with the comment before it. @param {string} text */
function statements(text) {
  /** @type {{ doc: string, code: string }[]} */
  const found = [];
  let [start, depth, doc] = [0, 0, ""];
  const end = (/** @type {number} */ at) => {
    const code = text.slice(start, at).trim();
    if (code) found.push({ doc, code });
    [start, doc] = [at, ""];
  };
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (text.startsWith("/*", i)) {
      const close = text.indexOf("*/", i) + 2;
      if (depth === 0 && text.slice(start, i).trim() === "") [doc, start] = [text.slice(i, close), close];
      i = close - 1;
    } else if (text.startsWith("//", i)) i = text.indexOf("\n", i);
    else if (char === '"' || char === "'" || char === "`") i = text.indexOf(char, i + 1);
    else if ("{([".includes(char)) depth += 1;
    else if ("})]".includes(char)) {
      depth -= 1;
      const isBlock = /^\s*(export )?(declare )?(abstract )?(class|interface|enum|namespace)\b/.test(
        text.slice(start, i),
      );
      if (char === "}" && depth === 0 && isBlock) end(i + 1);
    } else if (char === ";" && depth === 0) end(i + 1);
  }
  return found;
}

/** A comment without its asterisks on one line, with an example on its own line. @param {string} comment */
function words(comment) {
  const text = comment.replace(/^\/\*\*?|\*\/$/g, "").replaceAll(/^\s*\* ?/gm, "");
  const [about, example] = text.split(/@example\s*/);
  // An indented paragraph is code.
  const parts = about
    .split(/\n\s*\n/)
    .map((part) =>
      /^ {4}/m.test(part)
        ? `\n\`\`\`\n${part.replace(/^\n/, "").replaceAll(/^ {4}/gm, "").trimEnd()}\n\`\`\`\n`
        : part.replaceAll(/\s+/g, " ").trim(),
    );
  const shown = parts
    .filter((part) => part !== "")
    .join("\n")
    .trim();
  if (!example) return shown;
  return `${shown}\n\n${example.includes("```") ? example.trim() : `\`\`\`\n${example.trim()}\n\`\`\``}`;
}

/** A declaration without its private members. @param {string} code */
const shownCode = (code) =>
  code
    .replaceAll(/^export (declare )?/g, "")
    .replaceAll(/\n\s*\/\*\*\s*@internal(?:(?!\*\/)[\s\S])*\*\/\n[^\n]*;(?=\n)/g, "")
    .replaceAll(/\n\s*(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n\s*)?(private|protected|#)[^\n]*;(?=\n)/g, "")
    .replaceAll(/import\("[^"]+"\)\./g, "");

/** The exports of a declaration file. @param {string} file @param {Map<string, Exported[]>} seen @returns {Exported[]} */
function exportsOf(file, seen = new Map()) {
  const known = seen.get(file);
  if (known) return known;
  /** @type {Exported[]} */
  const all = [];
  seen.set(file, all);
  const parsed = statements(readFileSync(file, "utf8"));
  const path = (/** @type {string} */ from) => join(dirname(file), from.replace(/\.js$/, ".d.ts"));
  /** @type {Map<string, [name: string, from: string]>} */
  const imported = new Map();
  for (const { code } of parsed) {
    const [, names, from] = /^import (?:type )?\{([^}]*)\} from "(\.[^"]+)"/.exec(code) ?? [];
    for (const [name, as] of names ? listed(names) : []) imported.set(as, [name, path(from)]);
  }
  const take = (/** @type {string} */ name, /** @type {string} */ as, /** @type {string} */ from) => {
    for (const each of exportsOf(from, seen)) if (each.name === name) all.push({ ...each, name: as });
  };
  for (const { doc, code } of parsed) {
    const [, star, from] = /^export \*( as \w+)? from "(\.[^"]+)"/.exec(code) ?? [];
    const [, names, source] = /^export (?:type )?\{([^}]*)\}(?: from "(\.[^"]+)")?/.exec(code) ?? [];
    const [, kind, name] =
      /^export (?:declare )?(?:abstract )?(function\*?|const|let|class|interface|type|enum) (\w+)/.exec(code) ?? [];
    if (from && star)
      all.push({
        name: star.slice(4),
        kind: "namespace",
        doc,
        code: `namespace of ${from.replace(/^\.\//, "")}`,
        file,
      });
    else if (from) all.push(...exportsOf(path(from), seen));
    else if (names && source) for (const [own, as] of listed(names)) take(own, as, path(source));
    else if (names) {
      for (const [own, as] of listed(names)) {
        const local = parsed.find((each) =>
          new RegExp(`^declare (?:abstract )?(?:function|const|class) ${own}\\b`).test(each.code),
        );
        const outside = imported.get(own);
        if (local) all.push({ name: as, kind: "const", doc: local.doc, code: local.code, file });
        else if (outside) take(outside[0], as, outside[1]);
      }
    } else if (name) {
      const overload = all.find((each) => each.name === name && each.file === file && each.kind === kind);
      if (overload && kind === "function") overload.code += `\n${code}`;
      else all.push({ name, kind, doc, code, file });
    }
  }
  return all;
}

/** The names in braces, each with the name under which it is exported. @param {string} names @returns {[string, string][]} */
const listed = (names) =>
  names
    .split(",")
    .map((each) => each.trim().replace(/^type /, ""))
    .filter((each) => each !== "")
    .map((each) => /** @type {[string, string]} */ (each.includes(" as ") ? each.split(" as ") : [each, each]));

/** The comment at the top of a file. @param {string} file */
const about = (file) => words(/^\/\*\*[\s\S]*?\*\//.exec(readFileSync(file, "utf8"))?.[0] ?? "");

/** @param {Exported} exported */
function section({ name, doc, code, kind }) {
  if (kind === "namespace") return `## ${name}\n\n${words(doc) || "A namespace."}\n`;
  return `## ${name}\n\n${words(doc)}${doc ? "\n\n" : ""}\`\`\`ts\n${shownCode(code)}\n\`\`\`\n`;
}

/**
 * The pages by file name. @param {string} root the repository's folder
 * @param {string} declarations where tsc wrote the declarations: dist, or another folder
 * @returns {Record<string, string>}
 */
export function apiPages(root, declarations) {
  /** @type {Record<string, { types: string }>} */
  const entries = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).exports;
  const seen = new Map();
  /** @type {Record<string, string>} */
  const pages = {};
  /** @type {string[]} */
  const rows = [];
  /** The page of a declaration. @type {Map<string, string>} */
  const home = new Map();
  // The root re-exports names of subpaths; these are described there.
  const order = Object.entries(entries).sort(([a], [b]) => Number(a === ".") - Number(b === "."));
  for (const [entry, { types }] of order) {
    const file = join(declarations, relative("dist", types));
    if (!existsSync(file)) throw new Error(`${file} is missing. Try: npm run setup`);
    const title = entry === "." ? "nudge-dg" : `nudge-dg/${entry.slice(2)}`;
    const page = `${entry === "." ? "nudge-dg" : entry.slice(2)}.md`;
    const all = [...new Map(exportsOf(file, seen).map((each) => [each.name, each])).values()];
    all.sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
    const key = (/** @type {Exported} */ { name, file: declared }) => `${declared} ${name}`;
    const own = all.filter((each) => entry !== "." || !home.has(key(each)));
    for (const each of own) if (!home.has(key(each))) home.set(key(each), page);
    const elsewhere = all.filter((each) => !own.includes(each));
    const pagesOf = [...new Set(elsewhere.map((each) => home.get(key(each)) ?? ""))].sort();
    const lines = pagesOf.map((place) => {
      const names = elsewhere.filter((each) => home.get(key(each)) === place).map(({ name }) => `\`${name}\``);
      return `- [nudge-dg/${place.slice(0, -3)}](${place}): ${names.join(", ")}`;
    });
    const also = lines.length ? `\n## Also exported, from subpaths\n\n${lines.join("\n")}\n` : "";
    pages[`api/${page}`] = `# ${title}\n\n${about(file)}\n\n${own.map(section).join("\n")}${also}`;
    rows.push(
      `| [${title}](${page}) | ${own
        .map(({ name }) => `\`${name}\``)
        .slice(0, 8)
        .join(", ")}${own.length > 8 ? `, and ${own.length - 8} more` : ""} |`,
    );
  }
  const index = `# API reference\n\n\`npm run docs\` generates these pages from the declarations of the package. [The guide](../../library.md) shows how the parts work together.\n\n| import from | exports |\n| --- | --- |\n${rows.sort().join("\n")}\n`;
  return { ...pages, "api/README.md": index };
}
