import { DataTable, type Column } from "../../components/DataTable";
import type { Tensor } from "./api";

type Side = Tensor & { side: "takes" | "gives" };

/** What a model takes and gives: names, types and shapes. */
export function SchemaTable({ inputs, outputs }: { inputs: Tensor[]; outputs: Tensor[] }) {
  const rows: Side[] = [
    ...inputs.map((tensor) => ({ ...tensor, side: "takes" as const })),
    ...outputs.map((tensor) => ({ ...tensor, side: "gives" as const })),
  ];
  return (
    <DataTable
      label="Inputs and outputs"
      columns={COLUMNS}
      rows={rows}
      rowKey={({ side, name }) => `${side} ${name}`}
    />
  );
}

const shape = (sizes: number[]): string => `[${sizes.map((size) => (size < 0 ? "any" : size)).join(", ")}]`;

const COLUMNS: Column<Side>[] = [
  { name: "side", header: "", cell: ({ side }) => side },
  { name: "name", header: "Tensor", cell: ({ name }) => <span className="mono">{name}</span> },
  { name: "datatype", header: "Type", cell: ({ datatype }) => <span className="mono">{datatype}</span> },
  { name: "shape", header: "Shape", cell: (tensor) => <span className="mono">{shape(tensor.shape)}</span> },
];
