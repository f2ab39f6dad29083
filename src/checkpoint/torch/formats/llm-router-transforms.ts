// What each target of an llm-router checkpoint reads of the encoder: layers, pooling, template.
// llm-router-blocks.ts reads the numbers of the scaler and the PCA.
import type { PoolingMode } from "../../../features/pooling.js";
import { Fields } from "../pickle/fields.js";
import { describe, type PickleValue } from "../pickle/pickle-values.js";
import { type PlainValue, toPlain } from "../pickle/plain-value.js";

export interface Transform {
  readonly place: string;
  readonly scaler: PickleValue;
  readonly pca: PickleValue;
  readonly layers: readonly number[];
  readonly pooling: PoolingMode;
  /** the components that were asked for; there are fewer if there were fewer samples */
  readonly maxPcaSize: number;
}

interface Transforms {
  /** in the order of the outputs */
  readonly transforms: readonly Transform[];
  readonly encoderName: string;
  readonly chatTemplateKwargs: Readonly<Record<string, PlainValue>>;
}

/** Demands one encoder and one template for all targets, since one prefill feeds the whole head. */
export function readTransforms(all: Fields, outputNames: readonly string[], version: 2 | 3): Transforms {
  const encoders = new Set<string>();
  const templates = new Map<string, Readonly<Record<string, PlainValue>>>();
  let specs = 0;
  const transforms = outputNames.map((name) => {
    const fields = all.fields(name);
    encoders.add(fields.text("encoder"));
    const kwargs = fields.has("chat_template_kwargs")
      ? toPlain(fields.fields("chat_template_kwargs"))
      : toPlain(Fields.of(new Map(), fields.place));
    templates.set(JSON.stringify(kwargs), kwargs);
    if (fields.has("feature_spec")) specs++;
    const transform = readTransform(fields);
    fields.end();
    return transform;
  });
  all.end();
  const [encoderName] = encoders;
  const [chatTemplateKwargs] = templates.values();
  if (encoderName === undefined || encoders.size !== 1) {
    throw all.refusal("encoder", `${encoders.size} encoders`, "one for all targets");
  }
  if (chatTemplateKwargs === undefined || templates.size !== 1) {
    throw all.refusal("chat_template_kwargs", `${templates.size} kinds`, "one for all targets");
  }
  if (specs > 0 !== (version === 3)) {
    throw all.refusal("feature_spec", `it in ${specs} targets`, "it in version 3 and only there");
  }
  return { transforms, encoderName, chatTemplateKwargs };
}

function readTransform(fields: Fields): Transform {
  const layer = fields.layer("layer");
  const mode = readPooling(fields, "mode");
  const maxPcaSize = fields.size("pca_dim");
  const source = fields.has("feature_spec")
    ? readSpec(fields.fields("feature_spec"))
    : { layers: [layer], pooling: mode, maxPcaSize };
  return {
    place: fields.place,
    scaler: fields.take("scaler"),
    pca: fields.take("pca"),
    layers: source.layers,
    pooling: source.pooling,
    maxPcaSize: Math.min(maxPcaSize, source.maxPcaSize),
  };
}

/** The feature_spec of a target. It replaces the target's `layer` and `mode`. */
function readSpec(spec: Fields): Pick<Transform, "layers" | "pooling" | "maxPcaSize"> {
  const aggregation = spec.text("aggregation");
  const layers = spec.layers("layers");
  const isKnown =
    aggregation === "all_layers_concat" || (aggregation === "single_layer" && layers.length === 1);
  if (!isKnown) {
    throw spec.refusal(
      "aggregation",
      `${describe(aggregation)} of ${layers.length} layers`,
      "all_layers_concat or single_layer of one",
    );
  }
  spec.expect("hidden_state_indexing", "direct");
  const content = { layers, pooling: readPooling(spec, "pooling"), maxPcaSize: spec.size("pca_dim") };
  spec.end();
  return content;
}

function readPooling(fields: Fields, name: string): PoolingMode {
  const mode = fields.text(name);
  if (mode === "last" || mode === "mean") return mode;
  throw fields.refusal(name, describe(mode), "last or mean");
}
