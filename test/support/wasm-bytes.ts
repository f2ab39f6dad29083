// src/wasm/bytes.ts, made from the .wat files beside it. Run it to print the file:
// node dist/test/support/wasm-bytes.js > src/wasm/bytes.ts
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import createWabt from "wabt";
import { packagePath } from "./fixtures.js";

const modules = ["product", "training"];

export async function wasmBytes(): Promise<string> {
  const wabt = await createWabt();
  const lines = modules.map((name) => {
    const file = `${name}.wat`;
    const module = wabt.parseWat(file, readFileSync(packagePath(`src/wasm/${file}`), "utf8"), { simd: true });
    const base64 = Buffer.from(module.toBinary({}).buffer).toString("base64");
    return `/** of ${file} */\nexport const ${name} =\n  "${base64}";\n`;
  });
  return [
    "// The WebAssembly modules in base64, made from the .wat files beside this one by test/support/wasm-bytes.ts.",
    "",
    ...lines,
  ].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(await wasmBytes());
