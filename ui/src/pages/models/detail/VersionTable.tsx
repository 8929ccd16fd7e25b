import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import type { Theme } from "@mui/material/styles";
import useMediaQuery from "@mui/material/useMediaQuery";
import { useState } from "react";
import { useMay } from "../../../api/me";
import { DataTable, type Column } from "../../../components/DataTable";
import { bytes } from "../../../components/format";
import { StatusChip } from "../../../components/StatusChip";
import { Time } from "../../../components/Time";
import type { Model, ModelVersion } from "../api";
import { stageTone } from "../stage";
import { shareOf } from "../traffic";
import { DeleteDialog } from "./DeleteDialog";
import { StageDialog } from "./StageDialog";
import { VersionDetails } from "./VersionDetails";

type Asked = { act: "stage" | "delete"; version: ModelVersion };

/** The versions of a model, newest first; a picked one shows its schema, files and history. */
export function VersionTable({ model }: { model: Model }) {
  const newestFirst = model.versions.toSorted((a, b) => Number(b.version) - Number(a.version));
  const [picked, setPicked] = useState(newestFirst[0]?.version ?? null);
  const [asked, setAsked] = useState<Asked | null>(null);
  const mayChange = useMay("admin");
  const isNarrow = useMediaQuery<Theme>((theme) => theme.breakpoints.down("md"));
  const columns = mayChange ? [...columnsOf(model), changing(setAsked)] : columnsOf(model);
  const close = (): void => setAsked(null);
  return (
    <>
      <DataTable
        label="Versions"
        columns={columns}
        rows={newestFirst}
        rowKey={({ version }) => version}
        isPicked={({ version }) => version === picked}
        onPick={({ version }) => setPicked((before) => (before === version ? null : version))}
        below={(version) =>
          version.version === picked && (
            <VersionDetails version={version}>
              {mayChange && isNarrow && <Changes version={version} ask={setAsked} />}
            </VersionDetails>
          )
        }
      />
      {asked?.act === "stage" && <StageDialog model={model} version={asked.version} onClose={close} />}
      {asked?.act === "delete" && <DeleteDialog model={model} version={asked.version} onClose={close} />}
    </>
  );
}

const columnsOf = (model: Model): Column<ModelVersion>[] => [
  {
    name: "version",
    header: "Version",
    by: ({ version }) => Number(version),
    cell: ({ version }) => <strong>{version}</strong>,
  },
  {
    name: "stage",
    header: "Stage",
    by: ({ stage }) => stage,
    cell: ({ stage, problem }) => (
      <Stack direction="row" spacing={0.5} useFlexGap sx={{ flexWrap: "wrap" }}>
        <StatusChip tone={stageTone(stage)} label={stage} />
        {problem && <StatusChip tone="bad" label="problem" />}
      </Stack>
    ),
  },
  {
    name: "traffic",
    header: "Traffic",
    numeric: true,
    by: ({ version }) => -shareOf(model, version),
    cell: ({ version }) => `${shareOf(model, version)} %`,
  },
  {
    name: "size",
    header: "Size",
    numeric: true,
    wideOnly: true,
    by: ({ size }) => size,
    cell: ({ size }) => bytes(size),
  },
  {
    name: "loaded",
    header: "Loaded on",
    wideOnly: true,
    cell: ({ loaded_on }) => loaded_on.join(", ") || "–",
  },
  {
    name: "created",
    header: "Uploaded",
    wideOnly: true,
    by: ({ created_ms }) => -created_ms,
    cell: ({ created_ms }) => <Time at_ms={created_ms} />,
  },
];

const changing = (ask: (asked: Asked) => void): Column<ModelVersion> => ({
  name: "change",
  header: "",
  wideOnly: true,
  cell: (version) => <Changes version={version} ask={ask} />,
});

function Changes({ version, ask }: { version: ModelVersion; ask: (asked: Asked) => void }) {
  return (
    <Stack
      direction="row"
      sx={{ justifyContent: { md: "flex-end" } }}
      onClick={(event) => event.stopPropagation()}
    >
      <Button
        aria-label={`Change the stage of version ${version.version}`}
        onClick={() => ask({ act: "stage", version })}
      >
        Stage…
      </Button>
      <Button
        color="error"
        aria-label={`Delete version ${version.version}`}
        onClick={() => ask({ act: "delete", version })}
      >
        Delete…
      </Button>
    </Stack>
  );
}
