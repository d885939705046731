// SPDX-License-Identifier: Apache-2.0
// node bundle.mjs MAIN.js OUT.js NODE_MODULES: bundles and minifies the page's program, with the licences of what is in it
// at its beginning. Run by cmake/BundlePage.cmake.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const [main, out, modules] = process.argv.slice(2);
const esbuild = createRequire(path.join(modules, "x.js"))("esbuild");

const result = await esbuild.build({
  entryPoints: [main],
  nodePaths: [modules],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  legalComments: "none",
  charset: "ascii",
  metafile: true,
  write: false,
  logLevel: "warning",
});

/** Folders of the packages that are in the bundle. */
function packages(metafile) {
  const folders = Object.keys(metafile.inputs)
    .map((file) => path.resolve(file).slice(path.resolve(modules).length + 1))
    .filter((file) => !file.startsWith("..") && file !== "")
    .map((file) => file.split(path.sep).slice(0, file.startsWith("@") ? 2 : 1).join("/"));
  return [...new Set(folders)].filter((name) => fs.existsSync(path.join(modules, name, "package.json"))).sort();
}

/** The licence texts, each once, with the packages that it is of. */
function licences(names) {
  const byText = new Map();
  for (const name of names) {
    const folder = path.join(modules, name);
    const file = fs.readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const { version, license } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
    const text = file ? fs.readFileSync(path.join(folder, file), "utf8").trim() : license;
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version}`]);
  }
  return [...byText].map(([text, of]) => `${of.join(", ")}:\n\n${text}`).join("\n\n---\n\n");
}

const notice = licences(packages(result.metafile)).replaceAll("*/", "* /").replace(/[^\x20-\x7e\n]/g, "?");
fs.writeFileSync(out, `/*! This program holds:\n\n${notice}\n*/\n${result.outputFiles[0].text.replaceAll("</script", "<\\/script")}`);
