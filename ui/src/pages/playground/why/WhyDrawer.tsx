import CloseIcon from "@mui/icons-material/Close";
import Box from "@mui/material/Box";
import Drawer from "@mui/material/Drawer";
import IconButton from "@mui/material/IconButton";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import type { ItemColumn, Overrides, Play } from "../../../api/runs";
import { Facts } from "../../../components/Facts";
import { PageState } from "../../../components/PageState";
import { ItemTable } from "../../../components/run/ItemTable";
import { valueText } from "../../../components/valueText";
import { playQuery, type Attempt } from "../usePlay";
import { ValueEdit } from "./ValueEdit";
import { isEditable, withValue } from "./whatIf";

type Props = {
  config: string;
  attempt: Attempt | null;
  item: string | null;
  overrides: Overrides;
  onOverride: (overrides: Overrides) => void;
  onClose: () => void;
};

/** Why one target scored what it did: every column of it. A value can be changed, to see what that would do. */
export function WhyDrawer({ config, attempt, item, overrides, onOverride, onClose }: Props) {
  const why = useQuery({ ...playQuery(config, attempt, item), enabled: attempt !== null && item !== null });
  return (
    <Drawer
      anchor="right"
      open={item !== null}
      onClose={onClose}
      slotProps={{
        paper: { sx: { width: { xs: "100%", sm: 680 }, p: 2.5, pt: 7 }, "aria-label": `Why ${item}` },
      }}
    >
      <Stack spacing={2}>
        <Box sx={{ display: "flex", alignItems: "center" }}>
          <Typography variant="h1" component="h2" sx={{ flexGrow: 1 }}>
            Why {item}
          </Typography>
          <IconButton aria-label="Close" onClick={onClose}>
            <CloseIcon />
          </IconButton>
        </Box>
        <PageState query={why}>
          {(play) => (
            <Reasons
              play={play}
              onSet={(column, value, forAll) =>
                onOverride(withValue(overrides, { column, id: forAll ? null : item, value }))
              }
            />
          )}
        </PageState>
      </Stack>
    </Drawer>
  );
}

type SetValue = (column: string, value: ItemColumn["value"], forAll: boolean) => void;

function Reasons({ play, onSet }: { play: Play; onSet: SetValue }) {
  const kinds = new Map(play.run.steps.map(({ step, kind }) => [step, kind]));
  const edit = (column: ItemColumn) =>
    isEditable(column, kinds.get(column.step)) && (
      <ValueEdit column={column} onSet={(value, forAll) => onSet(column.column, value, forAll)} />
    );
  return play.item?.rows.map((row) => (
    <Stack key={row.row} spacing={2}>
      {row.error && <Typography color="error">{row.error}</Typography>}
      <Facts
        facts={Object.entries(row.scores).map(([name, value]) => [name, <strong>{valueText(value)}</strong>])}
      />
      <ItemTable row={row} action={edit} />
    </Stack>
  ));
}
