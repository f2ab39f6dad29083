// The two judges that come with the package, and how the tables of a file are laid over theirs.
import { join } from "node:path";

const weakModel = "mistralai/Mixtral-8x7B-Instruct-v0.1";

export type Table = Readonly<Record<string, unknown>>;

/** What a file beside package.json would say of them. */
function embedded(packageRoot: string) {
  const at = (path: string) => join(packageRoot, "checkpoints", path);
  const encoders: Record<string, Table> = {
    smollm2: { type: "onnx", path: at("smollm2-135m/encoder"), model: "HuggingFaceTB/SmolLM2-135M-Instruct" },
    minilm: { type: "onnx", path: at("minilm-l6/encoder"), model: "sentence-transformers/all-MiniLM-L6-v2" },
  };
  const judges: Record<string, Table> = {
    "prefill-judge": {
      checkpoint: at("smollm2-135m"),
      encoder: "smollm2",
      output: weakModel,
      spaces: "single",
      envelopes: "strip",
    },
    "prefill-judge-fast": {
      checkpoint: at("minilm-l6"),
      encoder: "minilm",
      output: weakModel,
      envelopes: "strip",
    },
  };
  return { encoders, judges };
}

export function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * A file's content over what the package says. `[judges]` says which judges there are.
 * @param packageRoot folder of package.json
 */
export function overEmbedded(content: Table, packageRoot: string): Table {
  const packaged = embedded(packageRoot);
  const { encoders = {}, judges = packaged.judges } = content;
  return {
    ...content,
    encoders: isTable(encoders)
      ? { ...packaged.encoders, ...overEach(packaged.encoders, encoders, ["path", "model"]) }
      : encoders,
    judges: isTable(judges)
      ? overEach(packaged.judges, judges, ["checkpoint", "output", "envelopes", "spaces"])
      : judges,
  };
}

/**
 * Each own table over the packaged one of that name. A table that gives `key` is about another thing: it
 * takes nothing of `forgotten` from the package.
 */
function overEach(
  packaged: Readonly<Record<string, Table>>,
  own: Table,
  [key, ...forgotten]: readonly [string, ...string[]],
): Table {
  const entries = Object.entries(own).map(([id, table]) => {
    const base = Object.hasOwn(packaged, id) ? packaged[id]! : {};
    if (!isTable(table)) return [id, table];
    const kept = Object.entries(base).filter(([name]) => !(key in table && forgotten.includes(name)));
    return [id, { ...Object.fromEntries(kept), ...table }];
  });
  return Object.fromEntries(entries);
}
