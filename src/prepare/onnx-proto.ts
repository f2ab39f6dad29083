// ONNX models as messages: the fields of onnx.proto (IR version 13), by their numbers. Sequences, maps and
// trainings that a model may carry too are kept as they are or dropped with what is not kept of the graph.
import protobuf from "protobufjs";
import { JudgeError } from "../errors.js";

/** A 64-bit integer as protobufjs gives it. */
export type Int64 = number | { toNumber(): number };

export interface Entry {
  key: string;
  value: string;
}

export interface TensorProto {
  dims?: Int64[];
  dataType?: number;
  name?: string;
  rawData?: Uint8Array;
  externalData?: Entry[];
  /** 1: in another file */
  dataLocation?: number;
  floatData?: number[];
  int32Data?: number[];
  int64Data?: Int64[];
}

export interface AttributeProto {
  name: string;
  type?: number;
  f?: number;
  i?: Int64;
  s?: Uint8Array;
  t?: TensorProto;
  g?: GraphProto;
  ints?: Int64[];
  graphs?: GraphProto[];
}

export interface NodeProto {
  input: string[];
  output: string[];
  name?: string;
  opType: string;
  domain?: string;
  attribute: AttributeProto[];
}

export interface ValueInfoProto {
  name: string;
  type?: {
    tensorType?: { elemType?: number; shape?: { dim: { dimValue?: Int64; dimParam?: string }[] } };
  };
}

export interface GraphProto {
  node: NodeProto[];
  name?: string;
  initializer: TensorProto[];
  sparseInitializer: unknown[];
  input: ValueInfoProto[];
  output: ValueInfoProto[];
  valueInfo: ValueInfoProto[];
}

export interface ModelProto {
  irVersion?: Int64;
  producerName?: string;
  graph?: GraphProto;
  opsetImport: { domain?: string; version?: Int64 }[];
  metadataProps: Entry[];
}

type Field = readonly [id: number, type: string, many?: "many"];

/** By message: its fields. */
const messages: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
  Entry: { key: [1, "string"], value: [2, "string"] },
  OperatorSet: { domain: [1, "string"], version: [2, "int64"] },
  Model: {
    irVersion: [1, "int64"],
    producerName: [2, "string"],
    producerVersion: [3, "string"],
    domain: [4, "string"],
    modelVersion: [5, "int64"],
    docString: [6, "string"],
    graph: [7, "Graph"],
    opsetImport: [8, "OperatorSet", "many"],
    metadataProps: [14, "Entry", "many"],
    functions: [25, "FunctionBody", "many"],
  },
  Graph: {
    node: [1, "Node", "many"],
    name: [2, "string"],
    initializer: [5, "Tensor", "many"],
    docString: [10, "string"],
    input: [11, "ValueInfo", "many"],
    output: [12, "ValueInfo", "many"],
    valueInfo: [13, "ValueInfo", "many"],
    quantizationAnnotation: [14, "Annotation", "many"],
    sparseInitializer: [15, "SparseTensor", "many"],
    metadataProps: [16, "Entry", "many"],
  },
  Annotation: { tensorName: [1, "string"], parameters: [2, "Entry", "many"] },
  Node: {
    input: [1, "string", "many"],
    output: [2, "string", "many"],
    name: [3, "string"],
    opType: [4, "string"],
    attribute: [5, "Attribute", "many"],
    docString: [6, "string"],
    domain: [7, "string"],
    overload: [8, "string"],
    metadataProps: [9, "Entry", "many"],
  },
  Attribute: {
    name: [1, "string"],
    f: [2, "float"],
    i: [3, "int64"],
    s: [4, "bytes"],
    t: [5, "Tensor"],
    g: [6, "Graph"],
    floats: [7, "float", "many"],
    ints: [8, "int64", "many"],
    strings: [9, "bytes", "many"],
    tensors: [10, "Tensor", "many"],
    graphs: [11, "Graph", "many"],
    docString: [13, "string"],
    tp: [14, "Type"],
    typeProtos: [15, "Type", "many"],
    type: [20, "int32"],
    refAttrName: [21, "string"],
    sparseTensor: [22, "SparseTensor"],
    sparseTensors: [23, "SparseTensor", "many"],
  },
  Tensor: {
    dims: [1, "int64", "many"],
    dataType: [2, "int32"],
    floatData: [4, "float", "many"],
    int32Data: [5, "int32", "many"],
    stringData: [6, "bytes", "many"],
    int64Data: [7, "int64", "many"],
    name: [8, "string"],
    rawData: [9, "bytes"],
    doubleData: [10, "double", "many"],
    uint64Data: [11, "uint64", "many"],
    docString: [12, "string"],
    externalData: [13, "Entry", "many"],
    dataLocation: [14, "int32"],
    metadataProps: [16, "Entry", "many"],
  },
  SparseTensor: { values: [1, "Tensor"], indices: [2, "Tensor"], dims: [3, "int64", "many"] },
  ValueInfo: {
    name: [1, "string"],
    type: [2, "Type"],
    docString: [3, "string"],
    metadataProps: [4, "Entry", "many"],
  },
  Type: {
    tensorType: [1, "TensorType"],
    sequenceType: [4, "ElementType"],
    mapType: [5, "MapType"],
    denotation: [6, "string"],
    sparseTensorType: [8, "TensorType"],
    optionalType: [9, "ElementType"],
  },
  TensorType: { elemType: [1, "int32"], shape: [2, "Shape"] },
  ElementType: { elemType: [1, "Type"] },
  MapType: { keyType: [1, "int32"], valueType: [2, "Type"] },
  Shape: { dim: [1, "Dimension", "many"] },
  Dimension: { dimValue: [1, "int64"], dimParam: [2, "string"], denotation: [3, "string"] },
  FunctionBody: {
    name: [1, "string"],
    input: [4, "string", "many"],
    output: [5, "string", "many"],
    attribute: [6, "string", "many"],
    node: [7, "Node", "many"],
    docString: [8, "string"],
    opsetImport: [9, "OperatorSet", "many"],
    domain: [10, "string"],
    attributeProto: [11, "Attribute", "many"],
    valueInfo: [12, "ValueInfo", "many"],
    overload: [13, "string"],
    metadataProps: [14, "Entry", "many"],
  },
};

const modelType = protobuf.Root.fromJSON({
  nested: Object.fromEntries(
    Object.entries(messages).map(([name, fields]) => [
      name,
      {
        fields: Object.fromEntries(
          Object.entries(fields).map(([field, [id, type, many]]) => [
            field,
            { id, type, ...(many && { rule: "repeated" }) },
          ]),
        ),
      },
    ]),
  ),
}).lookupType("Model");

/** @throws JudgeError `usage` for bytes that are no ONNX model */
export function decodeModel(bytes: Uint8Array): ModelProto & { graph: GraphProto } {
  let model: ModelProto;
  try {
    model = modelType.decode(bytes) as unknown as ModelProto;
  } catch (cause) {
    throw damaged("cannot be read", cause);
  }
  const { graph } = model;
  if (graph === undefined || graph === null) throw damaged("has no graph");
  if (graph.node.length === 0 || model.opsetImport.length === 0) throw damaged("has an empty graph");
  return { ...model, graph };
}

export function encodeModel(model: ModelProto): Uint8Array {
  return modelType.encode(model as unknown as Record<string, unknown>).finish();
}

export function numberOf(value: Int64 | undefined): number {
  return typeof value === "number" ? value : (value?.toNumber() ?? 0);
}

function damaged(what: string, cause?: unknown): JudgeError {
  return new JudgeError("usage", {
    found: `model.onnx ${what}: it is damaged, or no ONNX model`,
    remedy: "fetch it again from where it came",
    cause,
  });
}
