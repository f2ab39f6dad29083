// scikit-learn's scaler and PCA of an llm-router checkpoint → feature blocks. Only their attributes are read.
import type { FeatureBlock } from "../../../head/weights.js";
import { Fields } from "../pickle/fields.js";
import { type FloatReader, shapeOf } from "../pickle/float-reader.js";
import { torchRefusal } from "../torch-refusal.js";
import type { Transform } from "./llm-router-transforms.js";
import type { TrunkConfig } from "./llm-router-trunk.js";

/** The blocks whose outputs, side by side, are the input of the trunk. */
export function readBlocks(
  transforms: readonly Transform[],
  { place, layout, sizes }: TrunkConfig,
  floats: FloatReader,
): FeatureBlock[] {
  const used = layout === "shared_once" ? transforms.slice(0, 1) : transforms;
  const blocks = used.map((transform) => readBlock(transform, floats));
  const different = blocks.find(({ hiddenSize }) => hiddenSize !== blocks[0]!.hiddenSize);
  if (different) {
    throw torchRefusal(place, {
      found: `targets of hidden size ${blocks[0]!.hiddenSize} and ${different.hiddenSize}`,
      wanted: "one size",
    });
  }
  const size = blocks.reduce((sum, block) => sum + block.pcaSize, 0);
  if (size !== sizes[0]) {
    throw torchRefusal(`${place}.d_in`, {
      found: `${sizes[0]}`,
      wanted: `${size}, the components of all blocks`,
    });
  }
  return blocks;
}

function readBlock(
  { place, scaler, pca, layers, pooling, maxPcaSize }: Transform,
  floats: FloatReader,
): FeatureBlock {
  const scale = Fields.ofObject(scaler, "sklearn.preprocessing._data.StandardScaler", `${place}.scaler`);
  scale.expect("with_mean", true);
  scale.expect("with_std", true);
  const [rawSize] = shapeOf(scale, "mean_", 1);
  if (rawSize % layers.length !== 0) {
    throw scale.refusal("mean_", `${rawSize} values`, `a multiple of the ${layers.length} layers`);
  }
  expectSize(scale, "n_features_in_", rawSize);
  return {
    layers,
    pooling,
    hiddenSize: rawSize / layers.length,
    combination: { kind: "concat" },
    scalerMean: floats.read(scale, "mean_", [rawSize]),
    scalerScale: floats.readScale(scale, "scale_", rawSize),
    ...readPca(
      Fields.ofObject(pca, "sklearn.decomposition._pca.PCA", `${place}.pca`),
      { rawSize, maxPcaSize },
      floats,
    ),
  };
}

function readPca(
  pca: Fields,
  { rawSize, maxPcaSize }: { rawSize: number; maxPcaSize: number },
  floats: FloatReader,
): Pick<FeatureBlock, "pcaMean" | "pcaSize" | "pcaComponents"> {
  const name = "components_";
  const [pcaSize] = shapeOf(pca, name, 2);
  if (pcaSize > maxPcaSize) {
    throw pca.refusal(name, `${pcaSize} components`, `at most pca_dim, ${maxPcaSize}`);
  }
  expectSize(pca, "n_features_in_", rawSize);
  expectSize(pca, "n_components_", pcaSize);
  const pcaComponents = floats.read(pca, name, [pcaSize, rawSize]);
  if (pca.boolean("whiten")) {
    const variance = floats.readScale(pca, "explained_variance_", pcaSize);
    for (let index = 0; index < pcaComponents.length; index++) {
      pcaComponents[index]! /= Math.sqrt(variance[Math.floor(index / rawSize)]!);
    }
    if (!pcaComponents.every(Number.isFinite)) {
      throw pca.refusal("explained_variance_", "a variance too small to divide by", "a larger one");
    }
  }
  return { pcaMean: floats.read(pca, "mean_", [rawSize]), pcaSize, pcaComponents };
}

/** Compares a count that scikit-learn may keep beside the arrays. */
function expectSize(fields: Fields, name: string, wanted: number): void {
  if (fields.has(name)) fields.expect(name, wanted);
}
